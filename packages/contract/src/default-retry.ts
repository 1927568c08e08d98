/** What applies where neither the start nor the declaration says otherwise. */
export const DEFAULT_RETRY = {
  max_attempts: 3,
  initial_delay: "1s",
  max_delay: "1m",
  factor: 2,
  jitter: true,
} as const;

import { DEFAULT_RETRY, parseDuration, type RetryPolicy } from "@keelson/contract";

/** Ten years: far enough for every use, near enough for every clock and column. */
export const MAX_DELAY_MS = 3_650 * 24 * 3_600_000;

/** The policy in force for one run, durations in milliseconds. */
export type ResolvedRetry = {
  maxAttempts: number;
  initialDelayMs: number;
  maxDelayMs: number;
  factor: number;
  jitter: boolean;
};

/** Field by field: the start's own policy, then the declaration's, then the default. */
export function resolveRetry(
  own: RetryPolicy | null | undefined,
  declared: RetryPolicy | null | undefined,
): ResolvedRetry {
  const policy = { ...DEFAULT_RETRY, ...declared, ...own };
  return {
    maxAttempts: policy.max_attempts,
    initialDelayMs: parseDuration(policy.initial_delay) ?? 0,
    maxDelayMs: parseDuration(policy.max_delay) ?? 0,
    factor: policy.factor,
    jitter: policy.jitter,
  };
}

/**
 * The delay after failed attempt `attemptNumber` (1 for the first). `random` is in [0, 1); jitter spreads a delay
 * over its upper half, so that runs that failed together do not come back together.
 */
export function retryDelayMs(policy: ResolvedRetry, attemptNumber: number, random: number): number {
  const full = Math.min(
    MAX_DELAY_MS,
    policy.maxDelayMs,
    policy.initialDelayMs * policy.factor ** (attemptNumber - 1),
  );
  return Math.round(policy.jitter ? full * (0.5 + random / 2) : full);
}

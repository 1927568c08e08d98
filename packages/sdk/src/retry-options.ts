import type { RetryPolicy } from "@keelson/contract";
import { checkOptions, type OptionNames } from "./check-options.ts";
import { toWireDuration, type DurationInput } from "./duration-input.ts";

/**
 * When a failed attempt is tried again: the delay before attempt n+1 is `min(maxDelay, initialDelay * factor^(n-1))`.
 */
export type RetryOptions = {
  /** Attempts in all, 1 to 100. Default 3. */
  maxAttempts?: number;
  /** Default 1 s. */
  initialDelay?: DurationInput;
  /** Default 1 min. */
  maxDelay?: DurationInput;
  /** Default 2. */
  factor?: number;
  /** Spread each delay over 50 to 100 % of itself. Default true. */
  jitter?: boolean;
};

const RETRY_OPTIONS = {
  maxAttempts: true,
  initialDelay: true,
  maxDelay: true,
  factor: true,
  jitter: true,
} as const satisfies OptionNames<RetryOptions>;

/** Throws a UsageError for an option that does not exist, and for an invalid duration. */
export function toWireRetry(retry: RetryOptions): RetryPolicy {
  checkOptions("retry", retry, RETRY_OPTIONS);
  const wire: RetryPolicy = {};
  if (retry.maxAttempts !== undefined) wire.max_attempts = retry.maxAttempts;
  if (retry.initialDelay !== undefined)
    wire.initial_delay = toWireDuration(retry.initialDelay, "retry.initialDelay");
  if (retry.maxDelay !== undefined) wire.max_delay = toWireDuration(retry.maxDelay, "retry.maxDelay");
  if (retry.factor !== undefined) wire.factor = retry.factor;
  if (retry.jitter !== undefined) wire.jitter = retry.jitter;
  return wire;
}

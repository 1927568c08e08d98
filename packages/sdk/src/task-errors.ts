import { toMilliseconds, type DurationInput } from "./duration-input.ts";

/** Read from a thrown value by symbol, not by class, so that an error of another copy of the SDK means the same. */
export const RETRY_ADVICE = Symbol.for("keelson.retry.v1");

export type RetryAdvice = { retryable: boolean; retryAfterMs?: number };

/** Thrown by a task: the run fails now, whatever attempts are left. */
export class NonRetryableError extends Error {
  override readonly name: string = "NonRetryableError";
  readonly [RETRY_ADVICE]: RetryAdvice = { retryable: false };
}

/** Thrown by a task: this attempt fails and the next one begins after `delay` instead of the policy's own delay. */
export class RetryAfterError extends Error {
  override readonly name: string = "RetryAfterError";
  readonly [RETRY_ADVICE]: RetryAdvice;

  constructor(message: string, delay: DurationInput, options?: ErrorOptions) {
    super(message, options);
    this[RETRY_ADVICE] = { retryable: true, retryAfterMs: toMilliseconds(delay, "delay") };
  }
}

/** What a thrown value says about its retry; a value that says nothing is retried by the policy. */
export function readRetryAdvice(thrown: unknown): RetryAdvice {
  if (typeof thrown === "object" && thrown !== null && RETRY_ADVICE in thrown)
    return thrown[RETRY_ADVICE] as RetryAdvice;
  return { retryable: true };
}

import { RETRY_ADVICE, type RetryAdvice } from "./retry-advice.ts";
import { toMilliseconds, type DurationInput } from "./duration-input.ts";
import { KeelsonError } from "./keelson-error.ts";

/** Thrown by a task: the run fails now, whatever attempts are left. */
export class NonRetryableError extends KeelsonError {
  override readonly name: string = "NonRetryableError";
  readonly [RETRY_ADVICE]: RetryAdvice = { retryable: false };
}

/** Thrown by a task: this attempt fails and the next one begins after `delay` instead of the policy's own delay. */
export class RetryAfterError extends KeelsonError {
  override readonly name: string = "RetryAfterError";
  readonly [RETRY_ADVICE]: RetryAdvice;

  constructor(message: string, delay: DurationInput, options?: ErrorOptions) {
    super(message, options);
    this[RETRY_ADVICE] = { retryable: true, retryAfterMs: toMilliseconds(delay, "delay") };
  }
}

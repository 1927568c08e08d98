/** Read from a thrown value by symbol, not by class, so that an error of another copy of the SDK means the same. */
export const RETRY_ADVICE = Symbol.for("keelson.retry.v1");

export type RetryAdvice = { retryable: boolean; retryAfterMs?: number };

/** Of an error that the journal keeps: another attempt would only read it there. */
export const FINAL: RetryAdvice = { retryable: false };

/** What a thrown value says about its retry; a value that says nothing is retried by the policy. */
export function readRetryAdvice(thrown: unknown): RetryAdvice {
  if (typeof thrown === "object" && thrown !== null && RETRY_ADVICE in thrown)
    return thrown[RETRY_ADVICE] as RetryAdvice;
  return { retryable: true };
}

import { ConnectionError, ApiError, TimeoutError } from "./errors.ts";
import { randomFraction } from "./random.ts";

/** The pause before the next try: doubling from 0.2 s to 10 s, jittered, and no sooner than `Retry-After`. */
export function backoffMs(attempt: number, retryAfterMs: number | null): number {
  const capped = Math.min(10_000, 200 * 2 ** (attempt - 1));
  const jittered = capped * (0.5 + randomFraction() / 2);
  return retryAfterMs === null ? jittered : Math.max(retryAfterMs, jittered / 4);
}

/**
 * Whether a failed request may be sent again. A 408, a 429, a 507 and a connection that was refused had no effect,
 * whatever the verb: the server did not get the whole request, or did not begin with it.
 */
export function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 408 || error.status === 429 || error.status === 507) return true;
  if (error instanceof ConnectionError) return repeatable || !error.outcomeUnknown;
  return (
    repeatable &&
    (error.status === 503 || error.status === 502 || error.status === 504 || error instanceof TimeoutError)
  );
}

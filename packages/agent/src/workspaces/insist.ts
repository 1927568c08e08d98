import { pause } from "../pause.ts";
import { retryDelayMs } from "../protocol/retry-calls.ts";
import { ConnectionError, isTransient, ServiceError } from "../protocol/service-error.ts";
import type { Random } from "../random.ts";

/** Failures of the server itself, which another try may well meet again, are met so often at most. */
const FAULTS = 6;
const FULL_DISK_TRIES = 3;

/**
 * Calls until it succeeds or is refused. While the server cannot be reached there is nothing to be decided, so it is
 * waited for without an end, but that of `signal`; what the server cannot do is given up after a few tries.
 */
export async function insist<T>(
  call: () => Promise<T>,
  options: { random: Random; signal: AbortSignal },
): Promise<T> {
  let faults = 0;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (!isAbsence(error) && (faults += 1) >= (isDiskFull(error) ? FULL_DISK_TRIES : FAULTS)) throw error;
      await pause(retryDelayMs(attempt, error, options.random), options.signal);
      options.signal.throwIfAborted();
    }
  }
}

const isDiskFull = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === "storage_full" && error.details?.["store"] === "blobs";

/** Nobody was there to answer, or only to say so. */
const isAbsence = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ServiceError &&
    (error.status === 503 || error.status === 507 || error.status === 429) &&
    !isDiskFull(error));

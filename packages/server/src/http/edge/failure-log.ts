import type { Logger } from "pino";
import type { Clock } from "../../clock.ts";

/** Which request failed. */
export type FailedRequest = { requestId: string; method: string; path: string };

/** Logs a failure that is ours, not the caller's: one that was answered with `status`. */
export type FailureLog = (status: number, error: unknown, request: FailedRequest) => void;

const OUTAGE_LINE_INTERVAL_MS = 1_000;

/**
 * A 500 is a defect and has its stack. A 503 is an outage, which all requests meet alike: it has a line a second, with the
 * reason and how many others were answered so since the last line. Logging each would fill the disk of a server whose
 * clients try again.
 */
export function createFailureLog(log: Logger, clock: Clock): FailureLog {
  let toldAt = Number.NEGATIVE_INFINITY;
  let others = 0;
  return (status, error, request) => {
    if (status === 500) log.error({ err: error, ...request }, "request failed");
    if (status !== 503) return;
    const sinceMs = clock() - toldAt;
    // The machine's clock may be set back.
    if (sinceMs >= 0 && sinceMs < OUTAGE_LINE_INTERVAL_MS) {
      others += 1;
      return;
    }
    toldAt = clock();
    log.warn({ reason: reasonOf(error), others, ...request }, "service unavailable");
    others = 0;
  };
}

/** What the first cause says: the words of a refusal are made for callers. */
function reasonOf(error: unknown): string {
  let first = error;
  while (first instanceof Error && first.cause !== undefined) first = first.cause;
  return first instanceof Error ? first.message : String(first);
}

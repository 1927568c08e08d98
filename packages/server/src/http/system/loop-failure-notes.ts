import type { Logger } from "pino";
import type { LoopFailure } from "../../core/loop-failures/loop-failure.ts";
import type { Metrics } from "../edge/metrics.ts";

/** Logs and counts the items that background loops could not process. */
export function createLoopFailureNotes(
  metrics: Metrics,
  log: Logger,
): (failure: LoopFailure, error: unknown) => void {
  const counts = metrics.counters(
    "keelson_loop_item_failures_total",
    "Items that background loops could not process, counted at each try.",
    ["loop"],
  );
  return ({ loop, environmentId, itemId, failures, retryAt }, error) => {
    counts.of(loop).value += 1;
    log.error(
      { err: error, loop, environmentId, itemId, failures, retryAt: new Date(retryAt).toISOString() },
      "The loop set an item aside because it could not process it.",
    );
  };
}

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { cancelRuns } from "../executions/cancel-runs.ts";
import { listKnownRuns } from "../runs/run-reads.ts";
import type { BulkItem } from "./bulk-action.ts";

/** Cancels runs, with all that they have started. @returns what was done with each. */
export async function cancelTargets(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<BulkItem[]> {
  const live = await cancelRuns(tx, environmentId, runIds, now);
  const others = runIds.filter((runId) => !live.has(runId));
  const ended = new Set(others.length === 0 ? [] : await listKnownRuns(tx, environmentId, others));
  return runIds.map((runId): BulkItem => {
    if (live.has(runId)) return { runId, outcome: "cancelled" };
    if (ended.has(runId)) return { runId, outcome: "already_ended" };
    return {
      ...{ runId, outcome: "failed", code: "not_found" },
      message: "There is no such run in this environment.",
    };
  });
}

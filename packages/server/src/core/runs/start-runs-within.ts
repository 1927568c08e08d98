import type { Tx } from "../../db/queryable.ts";
import { isReadyAtBirth, type NewRun } from "./new-run.ts";
import { insertRuns } from "./run-writes.ts";
import { admitQueues } from "../queues/admit-limited-runs.ts";

/**
 * Starts runs as part of a transaction that writes more than them; the caller wakes the workers after its commit.
 *
 * @returns the ids that were inserted. One that is missing was resolved against a deployment that is no longer current.
 */
export async function startRunsWithin(tx: Tx, runs: readonly NewRun[]): Promise<Set<string>> {
  if (runs.length === 0) return new Set();
  const inserted = await insertRuns(
    tx,
    runs.map((run) => ({ run, lease: null })),
  );
  const limited = runs.filter((run) => run.limited && inserted.has(run.id));
  if (limited.length > 0) await admitQueues(tx, limited);
  tx.note({ kind: "starts", runs: runs.filter((run) => inserted.has(run.id) && isReadyAtBirth(run)) });
  return inserted;
}

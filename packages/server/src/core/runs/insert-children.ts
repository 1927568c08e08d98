import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { NewRun } from "./new-run.ts";
import { startRunsWithin } from "./start-runs-within.ts";

/** Inserts runs that other runs, or their sessions, start in this transaction. */
export async function insertChildren(tx: Tx, runs: readonly NewRun[]): Promise<void> {
  const inserted = await startRunsWithin(tx, runs);
  // What a run pins may have been dropped since it was resolved: the repeat of the report is told so.
  if (inserted.size < runs.length)
    throw new DomainError("unavailable", "A deployment was dropped just now; send the report again.");
  for (const { workerGroupId } of runs) tx.wake(wakeKeys.work(workerGroupId));
}

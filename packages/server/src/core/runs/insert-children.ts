import type { Tx } from "../../db/queryable.ts";
import { NOTHING_SETTLED, type Settled } from "../executions/settle-changes.ts";
import type { NewRun } from "./new-run.ts";
import { startRunsWithin } from "./start-runs-within.ts";

/** Inserts runs that other runs, or their sessions, start in this transaction. */
export async function insertChildren(tx: Tx, runs: readonly NewRun[]): Promise<Settled> {
  const inserted = await startRunsWithin(tx, runs);
  if (inserted.size < runs.length) throw new Error("A run that was resolved could not be inserted.");
  return { ...NOTHING_SETTLED, readyGroupIds: [...new Set(runs.map((run) => run.workerGroupId))] };
}

import type { Tx } from "../../db/queryable.ts";
import type { NewRun } from "./new-run.ts";
import { startRunsWithin } from "./start-runs-within.ts";

/**
 * Inserts a resolved run in the caller's transaction, which wakes the workers of its group after the commit. False when it
 * is stale: the deployment that it was resolved against is no longer current, or its key is taken.
 */
export const insertRun = async (tx: Tx, run: NewRun): Promise<boolean> =>
  (await startRunsWithin(tx, [run])).has(run.id);

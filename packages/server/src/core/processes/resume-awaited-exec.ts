import type { Database } from "../../db/pool.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import type { HeldKey } from "../executions/execution-reads.ts";
import type { ProcessRow } from "./process-reads.ts";
import { markResumed } from "./process-writes.ts";

/**
 * The code of a leased run has come to a command of it that was lost, and that waits for this to run again: it may be
 * started, when the workspace is live on the worker that has the run, which is told.
 */
export async function resumeAwaitedExec(
  { db, wakes }: { db: Database; wakes: Wakes },
  { environmentId, id, awaitsRun, runId }: ProcessRow,
  held: HeldKey,
): Promise<void> {
  if (!awaitsRun || runId !== held.runId) return;
  const { workerId } = held;
  if (await markResumed(db, { environmentId, processId: id, runId, workerId }))
    wakes.wake(wakeKeys.workerWorkspaces(workerId));
}

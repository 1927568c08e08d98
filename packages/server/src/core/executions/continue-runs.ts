import type { Tx } from "../../db/queryable.ts";
import { endRunExecs } from "../processes/end-run-execs.ts";
import { giveInputBack, writeContinuations } from "./continuation-writes.ts";
import type { Continuation } from "./execution.ts";

/**
 * Gives runs that continue an empty journal, when all that their code has said is written. The streams that they wait for
 * are locked, and workspaces are locked last.
 */
export async function continueRuns(
  tx: Tx,
  continuations: readonly Continuation[],
  now: number,
): Promise<void> {
  if (continuations.length === 0) return;
  const runs = continuations.map(({ execution }) => execution);
  await giveInputBack(tx, runs);
  const inWorkspaces = continuations.flatMap(({ execution: { environmentId, runId }, workspaceId }) =>
    workspaceId === null ? [] : [{ environmentId, runId, workspaceId }],
  );
  await endRunExecs(tx, inWorkspaces, now);
  await writeContinuations(tx, continuations, now);
}

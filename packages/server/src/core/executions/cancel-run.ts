import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { applyDecision, changeOf, type Change, type ExecutionKey } from "./execution.ts";
import { listTree, lockExecutions } from "./execution-reads.ts";
import { settleChanges } from "./settle-changes.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { decideCancel } from "../runs/run.ts";
import { findRunStatus } from "../runs/run-reads.ts";

/**
 * Asks for the end of a run and of all runs that it has started, and those have. One that no worker runs is cancelled at
 * once; a running one becomes `cancel_requested` and its worker is told. Cancelling again changes nothing.
 *
 * @throws DomainError `not_found`, or `invalid_state` when the run ended otherwise.
 */
export async function cancelRun(
  tx: Tx,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  now: number,
): Promise<void> {
  const changes = await lockTree(tx, { environmentId, runId });
  if (!changes.some(({ execution }) => execution.runId === runId)) {
    const status = await findRunStatus(tx, environmentId, runId);
    if (status === null) throw notFound();
    const decision = decideCancel(status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
    return;
  }
  for (const change of changes) {
    const { workerId } = change.execution;
    const decision = decideCancel(change.execution.status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message);
    applyDecision(change, decision, now);
    if (decision.kind === "move" && workerId !== null) tx.wake(wakeKeys.worker(workerId));
  }
  await settleChanges(tx, changes);
}

/**
 * The run and all that it has started, as far as they are live: locked in one statement in key order, as every transaction
 * locks several. What was started while the locks were waited for is locked after that; then nobody can add any more.
 */
async function lockTree(tx: Tx, root: ExecutionKey): Promise<Change[]> {
  const changes: Change[] = [];
  const seen = new Set<string>();
  for (;;) {
    const found = (await listTree(tx, root)).filter((runId) => !seen.has(runId));
    if (found.length === 0) return changes;
    for (const runId of found) seen.add(runId);
    const keys = found.map((runId) => ({ environmentId: root.environmentId, runId }));
    changes.push(...(await lockExecutions(tx, keys)).map(changeOf));
  }
}

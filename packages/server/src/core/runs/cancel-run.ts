import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { applyDecision, changeOf, type Change, type ExecutionKey } from "../executions/execution.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { NOTHING_SETTLED, settleChanges, type Settled } from "../executions/settle-changes.ts";
import { decideCancel } from "./run.ts";
import { findRunStatus } from "./run-reads.ts";

/**
 * Asks for the end of a run and of all runs that it has started, and those have. One that no worker runs is cancelled at
 * once; a running one becomes `cancel_requested` and its worker is told. Cancelling again changes nothing.
 *
 * @returns what to wake, the workers that are to stop runs among it.
 * @throws DomainError `not_found`, or `invalid_state` when the run ended otherwise.
 */
export async function cancelRun(tx: Tx, environmentId: string, runId: string, now: number): Promise<Settled> {
  const [execution] = await lockExecutions(tx, [{ environmentId, runId }]);
  if (execution === undefined) {
    const status = await findRunStatus(tx, environmentId, runId);
    if (status === null) throw notFound();
    const decision = decideCancel(status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
    return NOTHING_SETTLED;
  }
  const changes = [changeOf(execution), ...(await lockDescendants(tx, { environmentId, runId }))];
  const workerIds = new Set<string>();
  for (const change of changes) {
    const { workerId } = change.execution;
    const decision = decideCancel(change.execution.status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message);
    applyDecision(change, decision, now);
    if (decision.kind === "move" && workerId !== null) workerIds.add(workerId);
  }
  return { ...(await settleChanges(tx, changes)), workerIds: [...workerIds] };
}

/**
 * Live runs that were started by the run, level by level: while its parent's row is locked, nobody can add to a level.
 * Runs that ended are passed through to those that they had started.
 */
async function lockDescendants(tx: Tx, root: ExecutionKey): Promise<Change[]> {
  const { environmentId } = root;
  const changes: Change[] = [];
  let parents = [root.runId];
  while (parents.length > 0) {
    const children = await tx.query<{ runId: string }>(sql`
      SELECT id AS "runId" FROM runs
      WHERE environment_id = ${environmentId} AND parent_run_id = ANY(${parents}::uuid[]) ORDER BY id`);
    if (children.length === 0) break;
    const locked = await lockExecutions(
      tx,
      children.map(({ runId }) => ({ environmentId, runId })),
    );
    changes.push(...locked.map(changeOf));
    parents = children.map(({ runId }) => runId);
  }
  return changes;
}

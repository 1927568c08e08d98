import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { applyDecision, changeOf } from "../executions/execution.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { NOTHING_SETTLED, settleChanges, type Settled } from "../executions/settle-changes.ts";
import { decideCancel } from "./run.ts";
import { findRunStatus } from "./run-reads.ts";

/**
 * Asks for the end of a run. One that no worker holds is cancelled at once; a running one becomes `cancel_requested`
 * and its worker is told. Cancelling again changes nothing.
 *
 * @returns the worker to tell, if there is one.
 * @throws DomainError `not_found`, or `invalid_state` when the run ended otherwise.
 */
export async function cancelRun(
  tx: Tx,
  environmentId: string,
  runId: string,
  now: number,
): Promise<{ workerId: string | null; settled: Settled }> {
  const [execution] = await lockExecutions(tx, [{ environmentId, runId }]);
  if (execution === undefined) {
    const status = await findRunStatus(tx, environmentId, runId);
    if (status === null) throw notFound();
    const decision = decideCancel(status);
    if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
    return { workerId: null, settled: NOTHING_SETTLED };
  }
  const change = changeOf(execution);
  const decision = decideCancel(execution.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: execution.status });
  applyDecision(change, decision, now);
  const settled = await settleChanges(tx, [change]);
  return { workerId: decision.kind === "move" ? execution.workerId : null, settled };
}

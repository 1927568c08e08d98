import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { decideCancel } from "../runs/run.ts";
import { findRunStatus } from "../runs/run-reads.ts";
import { cancelRuns } from "./cancel-runs.ts";

/**
 * Asks for the end of a run and of all runs that it has started, and those have. One that no worker runs is cancelled at
 * once; a running one becomes `cancel_requested` and its worker is told. Cancelling again changes nothing.
 *
 * @returns whether anything changed
 *
 * @throws DomainError `not_found`, or `invalid_state` when the run ended otherwise.
 */
export async function cancelRun(
  tx: Tx,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  now: number,
): Promise<boolean> {
  const live = await cancelRuns(tx, environmentId, [runId], now);
  const isNew = live.get(runId);
  if (isNew !== undefined) return isNew;
  const status = await findRunStatus(tx, environmentId, runId);
  if (status === null) throw notFound();
  const decision = decideCancel(status);
  if (decision.kind === "refuse") throw new DomainError("invalid_state", decision.message, { status });
  return false;
}

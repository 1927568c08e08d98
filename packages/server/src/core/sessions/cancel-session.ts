import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { cancelRun } from "../executions/cancel-run.ts";
import { endSessions } from "./end-sessions.ts";
import { lockSession } from "./session-reads.ts";
import { decideSessionCancel } from "./session.ts";

/**
 * Ends a session and asks for the end of its live run. Cancelling again changes nothing.
 *
 * @returns whether anything changed
 * @throws DomainError `not_found`, or `invalid_state` when the session ended otherwise.
 */
export async function cancelSession(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
  now: number,
): Promise<boolean> {
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  const decision = decideSessionCancel(session.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: session.status });
  if (decision.kind === "none") return false;
  await endSessions(tx, [{ session, status: decision.status, reason: decision.reason }], now);
  const runId = session.currentRunId;
  // Locked first: a run that has just ended is left as it is.
  const [live] = await lockExecutions(tx, [{ environmentId, runId }]);
  if (live !== undefined) await cancelRun(tx, environmentId, runId, now);
  return true;
}

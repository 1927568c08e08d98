import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { joinEffects, NO_STREAM_EFFECTS, type StreamEffects } from "../streams/stream-effects.ts";
import { endSessions } from "./end-sessions.ts";
import { lockSession } from "./session-reads.ts";
import { decideSessionCancel } from "./session.ts";

/**
 * Ends a session and asks for the end of its live run. Cancelling again changes nothing.
 *
 * @returns what to wake, and the worker to tell, if there is one.
 * @throws DomainError `not_found`, or `invalid_state` when the session ended otherwise.
 */
export async function cancelSession(
  tx: Tx,
  environmentId: string,
  sessionId: string,
  now: number,
): Promise<StreamEffects> {
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  const decision = decideSessionCancel(session.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: session.status });
  if (decision.kind === "none") return NO_STREAM_EFFECTS;
  const ended = await endSessions(tx, [{ session, status: decision.status, reason: decision.reason }], now);
  const runId = session.currentRunId;
  // Locked first: a run that has just ended is left as it is.
  const [live] = await lockExecutions(tx, [{ environmentId, runId }]);
  if (live === undefined) return ended;
  const settled = await cancelRun(tx, environmentId, runId, now);
  return joinEffects([ended, { streamIds: [], settled }]);
}

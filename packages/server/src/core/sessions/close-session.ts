import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { endSessions } from "./end-sessions.ts";
import { lockSession } from "./session-reads.ts";
import { decideClose } from "./session.ts";

/**
 * Ends a session's input: a run that waits for it is told so, a running one finishes. Closing again changes nothing.
 *
 * @returns whether anything changed
 * @throws DomainError `not_found`, or `invalid_state` when the session ended otherwise.
 */
export async function closeSession(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
  reason: string | null,
  now: number,
): Promise<boolean> {
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  const decision = decideClose(session.status, reason);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: session.status });
  if (decision.kind === "none") return false;
  await endSessions(tx, [{ session, status: decision.status, reason: decision.reason }], now);
  return true;
}

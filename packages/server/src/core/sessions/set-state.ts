import { LIMITS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { lockSession } from "./session-reads.ts";
import { decideSetState, type SessionKey, type StateSource } from "./session-state.ts";
import { findSessionState, type StateRow } from "./session-state-reads.ts";
import { upsertSessionStates } from "./session-state-writes.ts";

/** @throws DomainError `payload_too_large`. */
export function stateText(state: unknown): string {
  const text = JSON.stringify(state ?? null);
  if (Buffer.byteLength(text) <= LIMITS.sessionStateBytes) return text;
  throw new DomainError(
    "payload_too_large",
    `The state of a session may be ${LIMITS.sessionStateBytes} bytes of JSON. Upload larger data as a file of the session (PUT …/files/{sha256}) and keep the id of the file.`,
    { field: "state" },
  );
}

/**
 * Sets the state of a session for a caller outside of it. The state of a session that has ended stays as it is; only a run that
 * still goes on may set it, by its reports.
 *
 * @param ifVersion the version that the state must have; null to overwrite it
 * @throws DomainError `not_found`, `session_closed`, `state_conflict` or `payload_too_large`.
 */
export async function setState(
  tx: Tx,
  key: SessionKey,
  {
    state,
    ifVersion,
    source,
    at,
  }: { state: unknown; ifVersion: number | null; source: StateSource; at: number },
): Promise<StateRow> {
  const value = stateText(state);
  // Of two who compare with the same version, the second waits here and then sees the first one's.
  const session = await lockSession(tx, key.environmentId, key.sessionId);
  if (session === null) throw notFound();
  if (session.status !== "open")
    throw new DomainError(
      "session_closed",
      `The session has ended as ${session.status}: its state can be read, and no longer be set. Start another session.`,
      { status: session.status },
    );
  const known = await findSessionState(tx, key);
  const present = known?.version ?? 0;
  const decision = decideSetState(present, ifVersion);
  if (decision.kind === "conflict")
    throw new DomainError("state_conflict", decision.message, { version: present });
  const { version } = decision;
  await upsertSessionStates(tx, [{ ...key, value, version, source, at }]);
  const { kind: sourceKind, id: sourceId, runId, attemptNumber } = source;
  return {
    sessionId: key.sessionId,
    value,
    version,
    updatedAt: at,
    sourceKind,
    sourceId,
    runId,
    attemptNumber,
  };
}

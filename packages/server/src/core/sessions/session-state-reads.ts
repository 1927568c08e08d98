import type { StateSourceKind, Uuid } from "@keelson/contract";
import { joinByKey, leftJoinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { SessionKey } from "./session-state.ts";

/** The state of a session that is there; all but the session is null while it was never set. JSON is text. */
export type StateRow = {
  sessionId: Uuid<"sess">;
  value: string | null;
  version: number | null;
  updatedAt: number | null;
  sourceKind: StateSourceKind | null;
  sourceId: string | null;
  runId: Uuid<"run"> | null;
  attemptNumber: number | null;
};

/** Null when there is no such session. */
export async function findSessionState(
  db: Queryable,
  { environmentId, sessionId }: SessionKey,
): Promise<StateRow | null> {
  const [row] = await db.query<StateRow>(sql`
    SELECT s.id AS session_id, t.value, t.version, t.updated_at, t.source_kind, t.source_id, t.run_id, t.attempt_number
    FROM sessions s LEFT JOIN session_states t ON t.environment_id = s.environment_id AND t.session_id = s.id
    WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId}`);
  return row ?? null;
}

/** Of the sessions that are there. */
export type ListedState = SessionKey & { value: string | null; version: number | null };

export async function listSessionStates(db: Queryable, keys: readonly SessionKey[]): Promise<ListedState[]> {
  if (keys.length === 0) return [];
  return db.query<ListedState>(sql`
    SELECT s.environment_id, s.id AS session_id, t.value, t.version
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.sessionId)}::uuid[])
      AS k (environment_id, session_id)
    ${joinByKey("sessions", "s", sql`s.environment_id = k.environment_id AND s.id = k.session_id`)}
    ${leftJoinByKey("session_states", "t", sql`t.environment_id = s.environment_id AND t.session_id = s.id`)}`);
}

import type { SessionStatus, Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type ReplayedSession = {
  id: Uuid<"sess">;
  externalId: string | null;
  status: SessionStatus;
  metadata: string | null;
  tags: string[] | null;
};

/** The sessions of leased runs. */
export async function listReplayedSessions(
  db: Queryable,
  executions: readonly { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> | null }[],
): Promise<ReplayedSession[]> {
  if (executions.length === 0) return [];
  return db.query<ReplayedSession>(sql`
    SELECT DISTINCT ON (s.environment_id, s.id) s.id, s.external_id, s.status, s.metadata, s.tags
    FROM unnest(${executions.map((e) => e.environmentId)}::uuid[], ${executions.map((e) => e.sessionId)}::uuid[]) AS k (environment_id, id)
    ${joinByKey("sessions", "s", sql`s.environment_id = k.environment_id AND s.id = k.id`)}
    ORDER BY s.environment_id, s.id`);
}

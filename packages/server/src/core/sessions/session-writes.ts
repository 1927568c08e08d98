import type { SessionStatus, Uuid, WhileBusy } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { StoredSession } from "./session-reads.ts";

/** False when another open session has its external id; waits for a transaction that is inserting such a one. */
export async function insertSession(tx: Tx, session: StoredSession): Promise<boolean> {
  const rows = await tx.query(sql`
    WITH inserted AS (INSERT INTO sessions (environment_id, id, project_id, external_id, entrypoint_kind, entrypoint, status, current_run_id,
      turn, while_busy, start_options, metadata, tags, workspace_id, expires_at, created_at, updated_at)
    VALUES (${session.environmentId}, ${session.id}, ${session.projectId}, ${session.externalId}, ${session.entrypointKind},
      ${session.entrypoint}, ${session.status}, ${session.currentRunId}, ${session.turn},
      nullif(${session.whileBusy}::text, 'enqueue'), ${session.startOptions},
      ${session.metadata}, ${session.tags}::text[], ${session.workspaceId}, ${timestamp(session.expiresAt)},
      ${timestamp(session.createdAt)}, ${timestamp(session.updatedAt)})
    ON CONFLICT (environment_id, external_id) WHERE external_id IS NOT NULL AND status = 'open' DO NOTHING
    RETURNING environment_id, id, tags
    ), tagged AS (
      INSERT INTO session_tags (environment_id, tag, session_id)
      SELECT environment_id, unnest(tags), id FROM inserted ON CONFLICT DO NOTHING
    )
    SELECT 1 AS inserted FROM inserted`);
  return rows.length === 1;
}

type Key = { environmentId: Uuid<"env">; id: Uuid<"sess"> };

export async function markEnded(
  tx: Tx,
  { environmentId, id }: Key,
  status: Exclude<SessionStatus, "open">,
  reason: string | null,
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE sessions SET status = ${status}, close_reason = ${reason}, closed_at = ${timestamp(now)},
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function markTurn(
  tx: Tx,
  { environmentId, id }: Key,
  turn: { runId: Uuid<"run">; turn: number; whileBusy: WhileBusy },
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE sessions SET current_run_id = ${turn.runId}, turn = ${turn.turn}, idle = false,
      while_busy = nullif(${turn.whileBusy}::text, 'enqueue'), updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function markIdle(tx: Tx, { environmentId, id }: Key, now: number): Promise<void> {
  await tx.send(sql`
    UPDATE sessions SET idle = true, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function markLastFailure(
  tx: Tx,
  { environmentId, id }: Key,
  failure: { runId: Uuid<"run">; code: string; message: string; at: number } | null,
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE sessions SET failed_run_id = ${failure?.runId ?? null}, failure_code = ${failure?.code ?? null},
      failure_message = ${failure?.message ?? null}, failed_at = ${timestamp(failure?.at ?? null)}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

/** Fields that are undefined stay as they are. */
export type SessionChanges = {
  metadata?: string;
  tags?: string[];
  expiresAt?: number | null;
};

export async function updateSessionFields(
  tx: Tx,
  { environmentId, id }: Key,
  { metadata, tags, expiresAt }: SessionChanges,
  now: number,
): Promise<void> {
  if (tags !== undefined) await replaceTags(tx, { environmentId, id }, tags);
  await tx.send(sql`
    UPDATE sessions SET
      metadata = CASE WHEN ${metadata !== undefined} THEN ${metadata ?? null} ELSE metadata END,
      tags = CASE WHEN ${tags !== undefined} THEN ${tags ?? null}::text[] ELSE tags END,
      expires_at = CASE WHEN ${expiresAt !== undefined} THEN ${timestamp(expiresAt ?? null)} ELSE expires_at END,
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

/** Before they are replaced in the locked session itself. */
async function replaceTags(tx: Tx, { environmentId, id }: Key, tags: readonly string[]): Promise<void> {
  await tx.send(sql`
    WITH gone AS (
      DELETE FROM session_tags t
      USING (SELECT unnest(tags) AS tag FROM sessions WHERE environment_id = ${environmentId} AND id = ${id}) o
      WHERE t.environment_id = ${environmentId} AND t.tag = o.tag AND t.session_id = ${id} AND o.tag <> ALL(${tags}::text[])
    )
    INSERT INTO session_tags (environment_id, tag, session_id)
    SELECT ${environmentId}::uuid, unnest(${tags}::text[]), ${id}::uuid ON CONFLICT DO NOTHING`);
}

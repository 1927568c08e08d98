import type { SessionStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { StoredSession } from "./session-reads.ts";

/** False when another open session has its external id; waits for a transaction that is inserting such a one. */
export async function insertSession(tx: Tx, session: StoredSession): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO sessions (environment_id, id, project_id, external_id, entrypoint_kind, entrypoint, status, current_run_id,
      turn, start_options, metadata, tags, workspace_id, expires_at, created_at, updated_at)
    VALUES (${session.environmentId}, ${session.id}, ${session.projectId}, ${session.externalId}, ${session.entrypointKind},
      ${session.entrypoint}, ${session.status}, ${session.currentRunId}, ${session.turn}, ${session.startOptions},
      ${session.metadata}, ${session.tags}::text[], ${session.workspaceId}, to_timestamp(${session.expiresAt}::float8 / 1000),
      to_timestamp(${session.createdAt}::float8 / 1000), to_timestamp(${session.updatedAt}::float8 / 1000))
    ON CONFLICT (environment_id, external_id) WHERE external_id IS NOT NULL AND status = 'open' DO NOTHING
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

type Key = { environmentId: string; id: string };

export async function markEnded(
  tx: Tx,
  { environmentId, id }: Key,
  status: Exclude<SessionStatus, "open">,
  reason: string | null,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE sessions SET status = ${status}, close_reason = ${reason}, closed_at = to_timestamp(${now}::float8 / 1000),
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function markTurn(
  tx: Tx,
  { environmentId, id }: Key,
  turn: { runId: string; turn: number },
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE sessions SET current_run_id = ${turn.runId}, turn = ${turn.turn}, idle = false,
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function markIdle(tx: Tx, { environmentId, id }: Key, now: number): Promise<void> {
  await tx.query(sql`
    UPDATE sessions SET idle = true, updated_at = to_timestamp(${now}::float8 / 1000)
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
  await tx.query(sql`
    UPDATE sessions SET
      metadata = CASE WHEN ${metadata !== undefined} THEN ${metadata ?? null} ELSE metadata END,
      tags = CASE WHEN ${tags !== undefined} THEN ${tags ?? null}::text[] ELSE tags END,
      expires_at = CASE WHEN ${expiresAt !== undefined} THEN to_timestamp(${expiresAt ?? null}::float8 / 1000) ELSE expires_at END,
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

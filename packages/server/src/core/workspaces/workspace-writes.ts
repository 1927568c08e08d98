import type { WorkspaceStatus, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { USED_AGAIN_MS } from "../materializations/materialization.ts";
import { WORKSPACE_COLUMNS, type WorkspaceRow } from "./workspace-reads.ts";

export type WorkspaceInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"ws">;
  projectId: Uuid<"proj">;
  externalId: string | null;
  sandbox: string;
  /** JSON text. */
  sandboxSpec: string;
  setupDigest: Buffer | null;
  currentVersionId: Uuid<"wsv">;
  madeForRunId: Uuid<"run"> | null;
  /** JSON text. */
  metadata: string | null;
  tags: readonly string[] | null;
  createdAt: number;
};

/** Null when an active workspace has the external id. */
export async function insertWorkspace(tx: Tx, row: WorkspaceInsert): Promise<WorkspaceRow | null> {
  const [inserted] = await tx.query<WorkspaceRow>(sql`
    WITH inserted AS (INSERT INTO workspaces (environment_id, id, project_id, external_id, sandbox, sandbox_spec, setup_digest,
      current_version_id, version_count, made_for_run_id, metadata, tags, last_activity_at, created_at, updated_at)
    SELECT ${row.environmentId}::uuid, ${row.id}::uuid, ${row.projectId}::uuid, ${row.externalId}::text, ${row.sandbox}::text,
      ${row.sandboxSpec}::text, ${row.setupDigest}::bytea, ${row.currentVersionId}::uuid, 1, ${row.madeForRunId}::uuid,
      ${row.metadata}::text, ${row.tags}::text[], at, at, at
    FROM ${timestamp(row.createdAt)} AS at
    ON CONFLICT (environment_id, external_id) WHERE external_id IS NOT NULL AND status = 'active' DO NOTHING
    RETURNING *
    ), tagged AS (
      INSERT INTO workspace_tags (environment_id, tag, workspace_id)
      SELECT environment_id, unnest(tags), id FROM inserted ON CONFLICT DO NOTHING
    )
    SELECT ${WORKSPACE_COLUMNS}
    FROM inserted w LEFT JOIN materializations m ON m.environment_id = w.environment_id AND m.id = w.materialization_id`);
  return inserted ?? null;
}

/** Before they are replaced in the locked workspace itself. */
async function replaceTags(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  tags: readonly string[],
): Promise<void> {
  await tx.query(sql`
    WITH gone AS (
      DELETE FROM workspace_tags t
      USING (SELECT unnest(tags) AS tag FROM workspaces WHERE environment_id = ${environmentId} AND id = ${workspaceId}) o
      WHERE t.environment_id = ${environmentId} AND t.tag = o.tag AND t.workspace_id = ${workspaceId}
        AND o.tag <> ALL(${tags}::text[])
    )
    INSERT INTO workspace_tags (environment_id, tag, workspace_id)
    SELECT ${environmentId}::uuid, unnest(${tags}::text[]), ${workspaceId}::uuid ON CONFLICT DO NOTHING`);
}

/** Replaces what is given; null leaves it. The workspace is the caller's from now on, whatever run it was made for. */
export async function updateWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  change: { metadata: string | null; tags: readonly string[] | null },
  now: number,
): Promise<void> {
  if (change.tags !== null) await replaceTags(tx, environmentId, workspaceId, change.tags);
  await tx.query(sql`
    UPDATE workspaces SET metadata = coalesce(${change.metadata}::text, metadata), tags = coalesce(${change.tags}::text[], tags),
      made_for_run_id = NULL, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

export async function markWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  status: WorkspaceStatus,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET status = ${status}, updated_at = ${timestamp(now)},
      deleted_at = CASE WHEN ${status}::text = 'deleted' THEN ${timestamp(now)} END
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** Somebody did something with it. */
export async function touchWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET last_activity_at = greatest(last_activity_at, ${timestamp(now)})
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** A start names it: it is not only of the run that it was made for. False when it was deleted meanwhile. */
export async function markNamed(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE workspaces SET made_for_run_id = NULL
    WHERE environment_id = ${environmentId} AND id = ${workspaceId} AND status = 'active' RETURNING 1 AS named`);
  return rows.length === 1;
}

/**
 * Of these workspaces, those that were made for a run are used again: they stay as long as if they had been used now. They are
 * locked in the order of their ids, as by every transaction that locks several. @returns those of them that are active.
 */
export async function touchRunWorkspaces(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceIds: readonly Uuid<"ws">[],
  now: number,
): Promise<Uuid<"ws">[]> {
  const rows = await db.query<{ id: Uuid<"ws"> }>(sql`
    WITH locked AS (
      SELECT id FROM workspaces
      WHERE environment_id = ${environmentId} AND id = ANY(${workspaceIds}::uuid[]) AND made_for_run_id IS NOT NULL
        AND status = 'active'
      ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE workspaces w SET last_activity_at = greatest(w.last_activity_at, ${timestamp(now)})
    FROM locked l WHERE w.environment_id = ${environmentId} AND w.id = l.id RETURNING w.id`);
  return rows.map(({ id }) => id);
}

/** The result of its setup is committed. */
export async function clearSetup(tx: Tx, environmentId: Uuid<"env">, workspaceId: Uuid<"ws">): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET setup_digest = NULL WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** Counts one more version and points at it; returns its number. Under the workspace's lock. */
export async function pointAtNewVersion(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  versionId: Uuid<"wsv">,
  now: number,
): Promise<number> {
  const [row] = await tx.query<{ number: number }>(sql`
    UPDATE workspaces SET current_version_id = ${versionId}, version_count = version_count + 1,
      last_activity_at = greatest(last_activity_at, ${timestamp(now)}),
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}
    RETURNING version_count AS number`);
  if (row === undefined) throw new Error("A workspace vanished while it was locked.");
  return row.number;
}

/** Somebody did something with what a machine has of a workspace: the idle stop counts from now. */
export async function touchMaterialization(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations m SET active_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${materializationId} AND m.active_at < ${timestamp(now - USED_AGAIN_MS)}`);
}

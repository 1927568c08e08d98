import type { WorkspaceStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type WorkspaceInsert = {
  environmentId: string;
  id: string;
  projectId: string;
  externalId: string | null;
  sandbox: string;
  /** JSON text. */
  sandboxSpec: string;
  setupDigest: Buffer | null;
  currentVersionId: string;
  /** JSON text. */
  metadata: string | null;
  tags: readonly string[] | null;
  createdAt: number;
};

/** False when an active workspace has the external id. */
export async function insertWorkspace(tx: Tx, row: WorkspaceInsert): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO workspaces (environment_id, id, project_id, external_id, sandbox, sandbox_spec, setup_digest,
      current_version_id, version_count, metadata, tags, last_activity_at, created_at, updated_at)
    SELECT ${row.environmentId}::uuid, ${row.id}::uuid, ${row.projectId}::uuid, ${row.externalId}::text, ${row.sandbox}::text,
      ${row.sandboxSpec}::text, ${row.setupDigest}::bytea, ${row.currentVersionId}::uuid, 1, ${row.metadata}::text,
      ${row.tags}::text[], at, at, at
    FROM to_timestamp(${row.createdAt}::float8 / 1000) AS at
    ON CONFLICT (environment_id, external_id) WHERE external_id IS NOT NULL AND status = 'active' DO NOTHING
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

/** Replaces what is given; null leaves it. */
export async function updateWorkspace(
  tx: Tx,
  environmentId: string,
  workspaceId: string,
  change: { metadata: string | null; tags: readonly string[] | null },
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET metadata = coalesce(${change.metadata}::text, metadata), tags = coalesce(${change.tags}::text[], tags),
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

export async function markWorkspace(
  tx: Tx,
  environmentId: string,
  workspaceId: string,
  status: WorkspaceStatus,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET status = ${status}, updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** Somebody did something with it. */
export async function touchWorkspace(
  tx: Tx,
  environmentId: string,
  workspaceId: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET last_activity_at = greatest(last_activity_at, to_timestamp(${now}::float8 / 1000))
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** The result of its setup is committed. */
export async function clearSetup(tx: Tx, environmentId: string, workspaceId: string): Promise<void> {
  await tx.query(sql`
    UPDATE workspaces SET setup_digest = NULL WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
}

/** Counts one more version and points at it; returns its number. Under the workspace's lock. */
export async function pointAtNewVersion(
  tx: Tx,
  environmentId: string,
  workspaceId: string,
  versionId: string,
  now: number,
): Promise<number> {
  const [row] = await tx.query<{ number: number }>(sql`
    UPDATE workspaces SET current_version_id = ${versionId}, version_count = version_count + 1,
      last_activity_at = greatest(last_activity_at, to_timestamp(${now}::float8 / 1000)),
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${workspaceId}
    RETURNING version_count AS number`);
  if (row === undefined) throw new Error("A workspace vanished while it was locked.");
  return row.number;
}

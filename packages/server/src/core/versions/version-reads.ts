import type { VersionCauseKind } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

/** Times are milliseconds. */
export type VersionRow = {
  environmentId: string;
  id: string;
  workspaceId: string;
  number: number;
  parentVersionId: string | null;
  causeKind: VersionCauseKind;
  causeId: string | null;
  digest: Buffer;
  manifestDigest: Buffer;
  fileCount: number;
  sizeBytes: number;
  createdAt: number;
};

const COLUMNS = rawSql(`
  environment_id AS "environmentId", id, workspace_id AS "workspaceId", number, parent_version_id AS "parentVersionId",
  cause_kind AS "causeKind", cause_id AS "causeId", digest, manifest_digest AS "manifestDigest", file_count AS "fileCount",
  size_bytes AS "sizeBytes", created_at AS "createdAt"`);

/** A version of any workspace of the environment. */
export async function findVersion(
  db: Queryable,
  environmentId: string,
  versionId: string,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${COLUMNS} FROM workspace_versions WHERE environment_id = ${environmentId} AND id = ${versionId}`);
  return row ?? null;
}

/** The current version of a workspace that has not been deleted. */
export async function findCurrentVersion(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND id = (
      SELECT w.current_version_id FROM workspaces w
      WHERE w.environment_id = ${environmentId} AND w.id = ${workspaceId} AND w.status <> 'deleted')`);
  return row ?? null;
}

/** As `findVersion`, and it cannot go before this transaction ends. */
export async function holdVersion(
  db: Queryable,
  environmentId: string,
  versionId: string,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${COLUMNS} FROM workspace_versions WHERE environment_id = ${environmentId} AND id = ${versionId} FOR KEY SHARE`);
  return row ?? null;
}

export async function findCommit(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
  commitId: string,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} AND commit_id = ${commitId}`);
  return row ?? null;
}

/** Newest first, after the version `before`. */
export function listVersions(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
  before: string | null,
  limit: number,
): Promise<VersionRow[]> {
  return db.query<VersionRow>(sql`
    SELECT ${COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}
      AND (${before}::uuid IS NULL OR number < coalesce((
        SELECT b.number FROM workspace_versions b
        WHERE b.environment_id = ${environmentId} AND b.workspace_id = ${workspaceId} AND b.id = ${before}::uuid), (
        -- It was dropped since: ids sort nearly as numbers do.
        SELECT min(c.number) FROM workspace_versions c
        WHERE c.environment_id = ${environmentId} AND c.workspace_id = ${workspaceId} AND c.id > ${before}::uuid)))
    ORDER BY number DESC LIMIT ${limit}`);
}

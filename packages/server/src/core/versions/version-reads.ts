import type { VersionCauseKind, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";

/** Times are milliseconds. */
export type VersionRow = {
  environmentId: Uuid<"env">;
  id: Uuid<"wsv">;
  workspaceId: Uuid<"ws">;
  number: number;
  parentVersionId: Uuid<"wsv"> | null;
  causeKind: VersionCauseKind;
  causeId: string | null;
  digest: Buffer;
  manifestDigest: Buffer;
  fileCount: number;
  sizeBytes: number;
  /** JSON of `VersionNotes`; null when it has everything as it was. */
  notes: string | null;
  createdAt: number;
};

export const VERSION_COLUMNS = rawSql(`
  environment_id, id, workspace_id, number, parent_version_id,
  cause_kind, cause_id, digest, manifest_digest, file_count,
  size_bytes, notes, created_at`);

/** A version of any workspace of the environment. */
export async function findVersion(
  db: Queryable,
  environmentId: Uuid<"env">,
  versionId: Uuid<"wsv">,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${VERSION_COLUMNS} FROM workspace_versions WHERE environment_id = ${environmentId} AND id = ${versionId}`);
  return row ?? null;
}

/** The current version of a workspace that has not been deleted. */
export async function findCurrentVersion(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${VERSION_COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND id = (
      SELECT w.current_version_id FROM workspaces w
      WHERE w.environment_id = ${environmentId} AND w.id = ${workspaceId} AND w.status <> 'deleted')`);
  return row ?? null;
}

/** As `findVersion`, and it cannot go before this transaction ends. */
export async function holdVersion(
  db: Queryable,
  environmentId: Uuid<"env">,
  versionId: Uuid<"wsv">,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${VERSION_COLUMNS} FROM workspace_versions WHERE environment_id = ${environmentId} AND id = ${versionId} FOR KEY SHARE`);
  return row ?? null;
}

export async function findCommit(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  commitId: string,
): Promise<VersionRow | null> {
  const [row] = await db.query<VersionRow>(sql`
    SELECT ${VERSION_COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} AND commit_id = ${commitId}`);
  return row ?? null;
}

/** Newest first, after the version `before`. */
export function listVersions(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  before: string | null,
  limit: number,
): Promise<VersionRow[]> {
  const isOnLaterPage = (last: string): Sql => sql` AND number < coalesce((
      SELECT b.number FROM workspace_versions b
      WHERE b.environment_id = ${environmentId} AND b.workspace_id = ${workspaceId} AND b.id = ${last}), (
      -- It was dropped since: ids sort nearly as numbers do.
      SELECT min(c.number) FROM workspace_versions c
      WHERE c.environment_id = ${environmentId} AND c.workspace_id = ${workspaceId} AND c.id > ${last}))`;
  return db.query<VersionRow>(sql`
    SELECT ${VERSION_COLUMNS} FROM workspace_versions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}${before === null ? sql`` : isOnLaterPage(before)}
    ORDER BY number DESC LIMIT ${limit}`);
}

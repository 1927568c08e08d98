import type { Isolation, MaterializationStatus, WorkspaceStatus, Uuid } from "@keelson/contract";
import {
  conditionsOfMatches,
  matchOf,
  selectPage,
  sourceOf,
  waysBy,
  waysByTag,
  type Source,
} from "../../db/filtered-page.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";

/** A workspace with its newest materialization, null when it never had one. JSON is text, times are milliseconds. */
export type WorkspaceRow = {
  environmentId: Uuid<"env">;
  id: Uuid<"ws">;
  projectId: Uuid<"proj">;
  externalId: string | null;
  sandbox: string;
  sandboxSpec: string;
  setupDigest: Buffer | null;
  status: WorkspaceStatus;
  currentVersionId: Uuid<"wsv">;
  /** It was made for this run, and nobody has made it theirs. */
  madeForRunId: Uuid<"run"> | null;
  metadata: string | null;
  tags: string[] | null;
  lastActivityAt: number;
  createdAt: number;
  updatedAt: number;
  materializationId: Uuid<"mat"> | null;
  materializationStatus: MaterializationStatus | null;
  isolation: Isolation | null;
  workerId: Uuid<"wkr"> | null;
  baseVersionId: Uuid<"wsv"> | null;
  dirty: boolean | null;
  startedAt: number | null;
  error: string | null;
  leaseExpiresAt: number | null;
};

export const WORKSPACE_COLUMNS = rawSql(`
  w.environment_id, w.id, w.project_id, w.external_id, w.sandbox,
  w.sandbox_spec, w.setup_digest, w.status, w.current_version_id,
  w.made_for_run_id, w.metadata, w.tags, w.last_activity_at, w.created_at, w.updated_at,
  m.id AS materialization_id, m.status AS materialization_status, m.isolation, m.worker_id,
  m.base_version_id, m.dirty, m.started_at, m.error, m.lease_expires_at`);

const JOINED = rawSql(`
  workspaces w LEFT JOIN materializations m ON m.environment_id = w.environment_id AND m.id = w.materialization_id`);

export async function findWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow | null> {
  const [row] = await db.query<WorkspaceRow>(sql`
    SELECT ${WORKSPACE_COLUMNS} FROM ${JOINED} WHERE w.environment_id = ${environmentId} AND w.id = ${workspaceId}`);
  return row ?? null;
}

/** Locks the workspace; its materialization is as it was committed before, and changes only under this lock. */
export async function lockWorkspace(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<WorkspaceRow | null> {
  // Two statements: a join that waited for the lock would show the other table as it was before.
  await tx.query(sql`
    SELECT 1 AS locked FROM workspaces WHERE environment_id = ${environmentId} AND id = ${workspaceId} FOR NO KEY UPDATE`);
  return findWorkspace(tx, environmentId, workspaceId);
}

export type WorkspaceFilter = {
  externalId: string | null;
  sandbox: string | null;
  /** All must be there. */
  tags: readonly string[];
};

/** Those that are not deleted, newest first, after the workspace `before`. */
export async function listWorkspaces(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: WorkspaceFilter,
  before: string | null,
  limit: number,
): Promise<WorkspaceRow[]> {
  const { externalId, sandbox, tags } = filter;
  const matches = [...matchOf("w.external_id", externalId), ...matchOf("w.sandbox", sandbox)];
  const ways = [
    ...waysBy(ALL, matches),
    ...waysByTag(tags, { table: "workspace_tags", of: "workspaces", id: "workspace_id", alias: "w" }),
  ];
  const conditionsOf = (source: Source): Sql[] => [
    ...conditionsOfMatches(matches, source),
    rawSql("w.status <> 'deleted'"),
    ...(tags.length === 0 ? [] : [sql`w.tags @> ${tags}::text[]`]),
  ];
  const page = await selectPage(db, { all: ALL, ways, conditionsOf }, { environmentId, before }, limit);
  return db.query<WorkspaceRow>(sql`
    SELECT ${WORKSPACE_COLUMNS} FROM (${page}) page, ${JOINED}
    WHERE w.environment_id = ${environmentId} AND w.id = page.id ORDER BY page.id DESC`);
}

const ALL = sourceOf("workspaces", "w");

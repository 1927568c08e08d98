import type { Isolation, MaterializationStatus, WorkspaceStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

/** A workspace with its newest materialization, null when it never had one. JSON is text, times are milliseconds. */
export type WorkspaceRow = {
  environmentId: string;
  id: string;
  projectId: string;
  externalId: string | null;
  sandbox: string;
  sandboxSpec: string;
  setupDigest: Buffer | null;
  status: WorkspaceStatus;
  currentVersionId: string;
  metadata: string | null;
  tags: string[] | null;
  lastActivityAt: number;
  createdAt: number;
  updatedAt: number;
  materializationId: string | null;
  materializationStatus: MaterializationStatus | null;
  isolation: Isolation | null;
  workerId: string | null;
  baseVersionId: string | null;
  dirty: boolean | null;
  startedAt: number | null;
  error: string | null;
};

const COLUMNS = rawSql(`
  w.environment_id AS "environmentId", w.id, w.project_id AS "projectId", w.external_id AS "externalId", w.sandbox,
  w.sandbox_spec AS "sandboxSpec", w.setup_digest AS "setupDigest", w.status, w.current_version_id AS "currentVersionId",
  w.metadata, w.tags, w.last_activity_at AS "lastActivityAt", w.created_at AS "createdAt", w.updated_at AS "updatedAt",
  m.id AS "materializationId", m.status AS "materializationStatus", m.isolation, m.worker_id AS "workerId",
  m.base_version_id AS "baseVersionId", m.dirty, m.started_at AS "startedAt", m.error`);

const JOINED = rawSql(`
  workspaces w LEFT JOIN materializations m ON m.environment_id = w.environment_id AND m.id = w.materialization_id`);

export async function findWorkspace(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
): Promise<WorkspaceRow | null> {
  const [row] = await db.query<WorkspaceRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE w.environment_id = ${environmentId} AND w.id = ${workspaceId}`);
  return row ?? null;
}

/** Locks the workspace; its materialization is as it was committed before, and changes only under this lock. */
export async function lockWorkspace(
  tx: Tx,
  environmentId: string,
  workspaceId: string,
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
export function listWorkspaces(
  db: Queryable,
  environmentId: string,
  filter: WorkspaceFilter,
  before: string | null,
  limit: number,
): Promise<WorkspaceRow[]> {
  return db.query<WorkspaceRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED}
    WHERE w.environment_id = ${environmentId} AND w.status <> 'deleted'
      AND (${before}::uuid IS NULL OR w.id < ${before}::uuid)
      AND (${filter.externalId}::text IS NULL OR w.external_id = ${filter.externalId}::text)
      AND (${filter.sandbox}::text IS NULL OR w.sandbox = ${filter.sandbox}::text)
      AND (cardinality(${filter.tags}::text[]) = 0 OR w.tags @> ${filter.tags}::text[])
    ORDER BY w.id DESC LIMIT ${limit}`);
}

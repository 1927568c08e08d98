import type { Isolation, MaterializationStatus, WorkspaceStatus } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";

/** Times are milliseconds. */
export type MaterializationRow = {
  environmentId: string;
  id: string;
  workspaceId: string;
  workerGroupId: string;
  status: MaterializationStatus;
  epoch: number;
  lostCount: number;
  requiredIsolation: Isolation;
  isolation: Isolation | null;
  workerId: string | null;
  leaseExpiresAt: number | null;
  baseVersionId: string;
  wantedAgain: boolean;
  activeAt: number;
  /** When it was live first; null when it never was. */
  startedAt: number | null;
};

const COLUMNS = rawSql(`
  environment_id AS "environmentId", id, workspace_id AS "workspaceId", worker_group_id AS "workerGroupId", status, epoch,
  lost_count AS "lostCount", required_isolation AS "requiredIsolation", isolation, worker_id AS "workerId",
  lease_expires_at AS "leaseExpiresAt", base_version_id AS "baseVersionId", wanted_again AS "wantedAgain", active_at AS "activeAt", started_at AS "startedAt"`);

export async function findMaterialization(
  db: Queryable,
  environmentId: string,
  materializationId: string,
): Promise<MaterializationRow | null> {
  const [row] = await db.query<MaterializationRow>(sql`
    SELECT ${COLUMNS} FROM materializations WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
  return row ?? null;
}

export async function findLastEpoch(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
): Promise<number> {
  const [row] = await db.query<{ epoch: number | null }>(sql`
    SELECT max(epoch) AS epoch FROM materializations WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}`);
  return row?.epoch ?? 0;
}

/** What a worker has, oldest first. */
export function listHeldMaterializations(db: Queryable, workerId: string): Promise<MaterializationRow[]> {
  return db.query<MaterializationRow>(sql`
    SELECT ${COLUMNS} FROM materializations
    WHERE worker_id = ${workerId} AND status IN ('preparing', 'live', 'stopping') ORDER BY id`);
}

/** What the worker that has a materialization needs to know of it. */
export type MaterializationFacts = {
  environmentId: string;
  id: string;
  projectId: string;
  workspaceId: string;
  workspaceStatus: WorkspaceStatus;
  status: MaterializationStatus;
  epoch: number;
  leaseExpiresAt: number;
  sandbox: string;
  sandboxSpec: string;
  setupDigest: Buffer | null;
  currentVersionId: string;
  digest: Buffer;
  manifestDigest: Buffer;
};

export function listMaterializationFacts(
  db: Queryable,
  ids: readonly { environmentId: string; id: string }[],
): Promise<MaterializationFacts[]> {
  return db.query<MaterializationFacts>(sql`
    SELECT m.environment_id AS "environmentId", m.id, w.project_id AS "projectId", m.workspace_id AS "workspaceId",
      w.status AS "workspaceStatus", m.status, m.epoch, m.lease_expires_at AS "leaseExpiresAt", w.sandbox,
      w.sandbox_spec AS "sandboxSpec", w.setup_digest AS "setupDigest", w.current_version_id AS "currentVersionId", v.digest,
      v.manifest_digest AS "manifestDigest"
    FROM unnest(${ids.map((m) => m.environmentId)}::uuid[], ${ids.map((m) => m.id)}::uuid[]) AS i (environment_id, id)
    JOIN materializations m ON m.environment_id = i.environment_id AND m.id = i.id
    JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
    JOIN workspace_versions v ON v.environment_id = w.environment_id AND v.id = w.current_version_id
    WHERE m.status IN ('preparing', 'live', 'stopping')
    ORDER BY m.id`);
}

export type OverdueMaterialization = { environmentId: string; id: string; workspaceId: string };

const overdue = (now: number): Sql => sql`
  m.status IN ('preparing', 'live', 'stopping') AND m.lease_expires_at < to_timestamp(${now}::float8 / 1000)`;

const idle = (activeBefore: number): Sql => sql`
  m.status = 'live' AND m.active_at < to_timestamp(${activeBefore}::float8 / 1000) AND NOT EXISTS (
    SELECT 1 FROM processes p
    WHERE p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id AND p.status IN ('pending', 'running'))
  AND NOT EXISTS (
    SELECT 1 FROM executions e
    WHERE e.environment_id = m.environment_id AND e.workspace_id = m.workspace_id AND e.worker_id IS NOT NULL)`;

const CROWDED_GROUPS = rawSql(`
  SELECT g.id FROM worker_groups g
  WHERE EXISTS (SELECT FROM materializations m WHERE m.worker_group_id = g.id AND m.status = 'requested')
    OR EXISTS (SELECT FROM executions e WHERE e.worker_group_id = g.id AND e.ready AND e.workspace_id IS NOT NULL)`);

/** A condition: there is one for `listOverdue` or `listIdle`, or a group for `listCrowdedGroups`. */
export const hasAnyToSweep = (now: number, activeBefore: number): Sql => sql`
  EXISTS (SELECT FROM materializations m WHERE ${overdue(now)})
  OR EXISTS (SELECT FROM materializations m WHERE ${idle(activeBefore)})
  OR EXISTS (${CROWDED_GROUPS})`;

/** Those whose worker has not renewed them in time. */
export function listOverdue(db: Queryable, now: number, limit: number): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id AS "environmentId", m.id, m.workspace_id AS "workspaceId" FROM materializations m
    WHERE ${overdue(now)} ORDER BY m.lease_expires_at LIMIT ${limit}`);
}

/** Live ones in which nothing runs and nobody did anything since. */
export function listIdle(
  db: Queryable,
  activeBefore: number,
  limit: number,
): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id AS "environmentId", m.id, m.workspace_id AS "workspaceId" FROM materializations m
    WHERE ${idle(activeBefore)} ORDER BY m.active_at LIMIT ${limit}`);
}

/** Worker groups in which a workspace waits for a worker, or a run for its workspace. */
export async function listCrowdedGroups(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(CROWDED_GROUPS);
  return rows.map(({ id }) => id);
}

/**
 * Live ones in which nothing runs and for which nothing waits, on workers of these groups that have no room for another:
 * they make room for those that are needed.
 */
export function listSpare(
  db: Queryable,
  workerGroupIds: readonly string[],
  activeBefore: number,
  limit: number,
): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id AS "environmentId", m.id, m.workspace_id AS "workspaceId"
    FROM materializations m JOIN workers w ON w.id = m.worker_id
    WHERE m.status = 'live' AND m.active_at < to_timestamp(${activeBefore}::float8 / 1000)
      AND m.worker_group_id = ANY(${workerGroupIds}::uuid[])
      AND w.capacity_workspaces <= (
        SELECT count(*) FROM materializations h WHERE h.worker_id = w.id AND h.status IN ('preparing', 'live', 'stopping'))
      AND NOT EXISTS (
        SELECT 1 FROM processes p
        WHERE p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id AND p.status IN ('pending', 'running'))
      AND NOT EXISTS (
        SELECT 1 FROM executions e
        WHERE e.environment_id = m.environment_id AND e.workspace_id = m.workspace_id AND e.worker_id IS NOT NULL)
      AND NOT EXISTS (
        SELECT 1 FROM executions e
        WHERE e.worker_group_id = m.worker_group_id AND e.environment_id = m.environment_id
          AND e.workspace_id = m.workspace_id AND e.ready)
    ORDER BY m.active_at LIMIT ${limit}`);
}

export type RequestFacts = {
  requiredIsolation: Isolation;
  /** Workers of the group that are active and were heard lately. */
  workers: number;
  /** Of them, those that have room for workspaces at all. */
  withCapacity: number;
  /** Of those, those whose isolation is good enough. */
  isolating: number;
};

/** Why a requested materialization may still wait. */
export async function findRequestFacts(
  db: Queryable,
  environmentId: string,
  materializationId: string,
  heardAfter: number,
): Promise<RequestFacts | null> {
  const [row] = await db.query<RequestFacts>(sql`
    SELECT m.required_isolation AS "requiredIsolation", count(w.id) AS workers,
      count(w.id) FILTER (WHERE w.capacity_workspaces > 0) AS "withCapacity",
      count(w.id) FILTER (WHERE w.capacity_workspaces > 0
        AND (w.isolation = 'namespace' OR m.required_isolation = 'process')) AS isolating
    FROM materializations m LEFT JOIN workers w ON w.worker_group_id = m.worker_group_id AND w.status = 'active'
      AND w.last_seen_at > to_timestamp(${heardAfter}::float8 / 1000)
    WHERE m.environment_id = ${environmentId} AND m.id = ${materializationId} AND m.status = 'requested'
    GROUP BY m.required_isolation`);
  return row ?? null;
}

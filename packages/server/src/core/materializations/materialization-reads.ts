import type { Isolation, MaterializationStatus, WorkspaceStatus, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { isGivenUp, type Watch } from "../workers/silence-reads.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

/** Times are milliseconds. */
export type MaterializationRow = {
  environmentId: Uuid<"env">;
  id: Uuid<"mat">;
  workspaceId: Uuid<"ws">;
  workerGroupId: Uuid<"wgrp">;
  status: MaterializationStatus;
  epoch: number;
  lostCount: number;
  requiredIsolation: Isolation;
  isolation: Isolation | null;
  workerId: Uuid<"wkr"> | null;
  leaseExpiresAt: number | null;
  baseVersionId: Uuid<"wsv">;
  wantedAgain: boolean;
  activeAt: number;
  /** When it was live first; null when it never was. */
  startedAt: number | null;
  /** Its worker has said that it keeps files that it could not commit. */
  kept: boolean;
  /** The version that was current when its worker was lost with what it had live; null for every other. */
  lostVersionId: Uuid<"wsv"> | null;
};

const COLUMNS = rawSql(`
  environment_id, id, workspace_id, worker_group_id, status, epoch,
  lost_count, required_isolation, isolation, worker_id,
  lease_expires_at, base_version_id, wanted_again, active_at, started_at, kept,
  lost_version_id`);

export async function findMaterialization(
  db: Queryable,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
): Promise<MaterializationRow | null> {
  const [row] = await db.query<MaterializationRow>(sql`
    SELECT ${COLUMNS} FROM materializations WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
  return row ?? null;
}

/** What a worker has, oldest first. */
export function listHeldMaterializations(
  db: Queryable,
  workerId: Uuid<"wkr">,
): Promise<MaterializationRow[]> {
  return db.query<MaterializationRow>(sql`
    SELECT ${COLUMNS} FROM materializations
    WHERE worker_id = ${workerId} AND status IN ('preparing', 'live', 'stopping', 'uncommitted') ORDER BY id`);
}

/** What the worker that has a materialization needs to know of it. */
export type MaterializationFacts = {
  environmentId: Uuid<"env">;
  id: Uuid<"mat">;
  projectId: Uuid<"proj">;
  workspaceId: Uuid<"ws">;
  workspaceStatus: WorkspaceStatus;
  status: MaterializationStatus;
  epoch: number;
  leaseExpiresAt: number;
  sandbox: string;
  sandboxSpec: string;
  setupDigest: Buffer | null;
  currentVersionId: Uuid<"wsv">;
  digest: Buffer;
  manifestDigest: Buffer;
};

export function listMaterializationFacts(
  db: Queryable,
  ids: readonly { environmentId: Uuid<"env">; id: Uuid<"mat"> }[],
): Promise<MaterializationFacts[]> {
  return db.query<MaterializationFacts>(sql`
    SELECT m.environment_id, m.id, w.project_id, m.workspace_id,
      w.status AS workspace_status, m.status, m.epoch, m.lease_expires_at, w.sandbox,
      w.sandbox_spec, w.setup_digest, w.current_version_id, v.digest,
      v.manifest_digest
    FROM unnest(${ids.map((m) => m.environmentId)}::uuid[], ${ids.map((m) => m.id)}::uuid[]) AS i (environment_id, id)
    JOIN materializations m ON m.environment_id = i.environment_id AND m.id = i.id
    JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
    JOIN workspace_versions v ON v.environment_id = w.environment_id AND v.id = w.current_version_id
    WHERE m.status IN ('preparing', 'live', 'stopping', 'uncommitted')
    ORDER BY m.id`);
}

/** Those of a worker's that are over and whose files somebody said are not wanted, or whose workspace is deleted. */
export function listDiscarded(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  ids: readonly { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number }[],
): Promise<{ environmentId: Uuid<"env">; id: Uuid<"mat"> }[]> {
  return db.query(sql`
    SELECT m.environment_id, m.id
    FROM unnest(${ids.map((m) => m.environmentId)}::uuid[], ${ids.map((m) => m.id)}::uuid[],
      ${ids.map((m) => m.epoch)}::integer[]) AS i (environment_id, id, epoch)
    JOIN materializations m ON m.environment_id = i.environment_id AND m.id = i.id AND m.epoch = i.epoch
    JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
    WHERE m.worker_group_id = ${workerGroupId} AND m.status IN ('stopped', 'failed')
      AND (m.kept OR m.lost_version_id IS NOT NULL)
      AND (m.discarded_at IS NOT NULL OR w.status <> 'active')`);
}

/** Those of a group's that were lost while they were live, of all that a worker has found on its disk. */
export function listLost(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  ids: readonly { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number }[],
): Promise<MaterializationRow[]> {
  return db.query<MaterializationRow>(sql`
    SELECT ${COLUMNS} FROM materializations
    WHERE (environment_id, id, epoch) IN (
        SELECT * FROM unnest(${ids.map((m) => m.environmentId)}::uuid[], ${ids.map((m) => m.id)}::uuid[],
          ${ids.map((m) => m.epoch)}::integer[]))
      AND worker_group_id = ${workerGroupId} AND lost_version_id IS NOT NULL ORDER BY id`);
}

export type OverdueMaterialization = { environmentId: Uuid<"env">; id: Uuid<"mat">; workspaceId: Uuid<"ws"> };

const ofSweep = (now: number): Sql =>
  isNotSetAside("sweep-materializations", sql`m.environment_id`, sql`m.id`, now);

const LEASE = {
  workerId: sql`m.worker_id`,
  workerGroupId: sql`m.worker_group_id`,
  endedAt: sql`m.lease_expires_at`,
  outlastsProcess: true,
  canContinue: sql`
    w.capacity_workspaces > 0 AND ${canIsolate(sql`coalesce(w.isolation, 'process')`, sql`m.required_isolation`)}`,
};

/**
 * Whose worker is given up; or nothing is lost by it, because the files are kept as uncommitted ones, or wanted by nobody, as the
 * workspace is deleted.
 */
const overdue = (watch: Watch): Sql => sql`
  m.status IN ('preparing', 'live', 'stopping') AND m.lease_expires_at < ${timestamp(watch.now)}
  AND ${ofSweep(watch.now)}
  AND (m.kept OR ${isGivenUp(LEASE, watch)} OR EXISTS (
    SELECT FROM workspaces w
    WHERE w.environment_id = m.environment_id AND w.id = m.workspace_id AND w.status <> 'active'))`;

const idle = (activeBefore: number, now: number): Sql => sql`
  ${ofSweep(now)} AND m.status = 'live' AND m.active_at < ${timestamp(activeBefore)} AND NOT EXISTS (
    SELECT 1 FROM processes p
    WHERE p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id AND p.status IN ('pending', 'running'))
  AND NOT EXISTS (
    SELECT 1 FROM executions e
    WHERE e.environment_id = m.environment_id AND e.workspace_id = m.workspace_id AND e.worker_id IS NOT NULL)`;

const CROWDED_GROUPS = rawSql(`
  SELECT g.id FROM worker_groups g
  WHERE EXISTS (SELECT FROM materializations m WHERE m.worker_group_id = g.id AND m.status = 'requested')
    OR EXISTS (SELECT FROM executions e WHERE e.worker_group_id = g.id AND e.ready AND e.workspace_id IS NOT NULL)`);

/** A condition: there is one for `listOverdue`. */
export const hasOverdueMaterializations = (watch: Watch): Sql =>
  sql`EXISTS (SELECT FROM materializations m WHERE ${overdue(watch)})`;

/** A condition: there is one for `listIdle`, or a group for `listCrowdedGroups`. */
export const hasIdleMaterializations = (now: number, activeBefore: number): Sql => sql`
  EXISTS (SELECT FROM materializations m WHERE ${idle(activeBefore, now)})
  OR EXISTS (${CROWDED_GROUPS})`;

/** Those whose worker has not renewed them in time, and is given up. */
export function listOverdue(db: Queryable, watch: Watch, limit: number): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id, m.id, m.workspace_id FROM materializations m
    WHERE ${overdue(watch)} ORDER BY m.lease_expires_at LIMIT ${limit}`);
}

/** Live ones in which nothing runs and nobody did anything since. */
export function listIdle(
  db: Queryable,
  activeBefore: number,
  now: number,
  limit: number,
): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id, m.id, m.workspace_id FROM materializations m
    WHERE ${idle(activeBefore, now)} ORDER BY m.active_at LIMIT ${limit}`);
}

/** Worker groups in which a workspace waits for a worker, or a run for its workspace. */
export async function listCrowdedGroups(db: Queryable): Promise<Uuid<"wgrp">[]> {
  const rows = await db.query<{ id: Uuid<"wgrp"> }>(CROWDED_GROUPS);
  return rows.map(({ id }) => id);
}

/**
 * Live ones in which nothing runs and for which nothing waits, on workers of these groups that have no room for another:
 * they make room for those that are needed.
 */
export function listSpare(
  db: Queryable,
  workerGroupIds: readonly Uuid<"wgrp">[],
  activeBefore: number,
  now: number,
  limit: number,
): Promise<OverdueMaterialization[]> {
  return db.query<OverdueMaterialization>(sql`
    SELECT m.environment_id, m.id, m.workspace_id
    FROM materializations m JOIN workers w ON w.id = m.worker_id
    WHERE m.status = 'live' AND m.active_at < ${timestamp(activeBefore)} AND ${ofSweep(now)}
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
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  heardAfter: number,
): Promise<RequestFacts | null> {
  const [row] = await db.query<RequestFacts>(sql`
    SELECT m.required_isolation, count(w.id) AS workers,
      count(w.id) FILTER (WHERE w.capacity_workspaces > 0) AS with_capacity,
      count(w.id) FILTER (WHERE w.capacity_workspaces > 0
        AND (w.isolation = 'namespace' OR m.required_isolation = 'process')) AS isolating
    FROM materializations m LEFT JOIN workers w ON w.worker_group_id = m.worker_group_id AND w.status = 'active'
      AND w.last_seen_at > ${timestamp(heardAfter)}
    WHERE m.environment_id = ${environmentId} AND m.id = ${materializationId} AND m.status = 'requested'
    GROUP BY m.required_isolation`);
  return row ?? null;
}

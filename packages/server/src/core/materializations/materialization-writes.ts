import type { Isolation, MaterializationStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type MaterializationInsert = {
  environmentId: string;
  id: string;
  workspaceId: string;
  /** Of the last materialization of the workspace. */
  epoch: number;
  requiredIsolation: Isolation;
  baseVersionId: string;
  createdAt: number;
};

/** Makes it the workspace's newest. Under the workspace's lock. */
export async function insertMaterialization(tx: Tx, row: MaterializationInsert): Promise<void> {
  await tx.query(sql`
    WITH pointer AS (
      UPDATE workspaces SET materialization_id = ${row.id}, updated_at = to_timestamp(${row.createdAt}::float8 / 1000)
      WHERE environment_id = ${row.environmentId} AND id = ${row.workspaceId}
    )
    INSERT INTO materializations (environment_id, id, workspace_id, worker_group_id, epoch, required_isolation, base_version_id,
      active_at, created_at, updated_at)
    SELECT ${row.environmentId}::uuid, ${row.id}::uuid, ${row.workspaceId}::uuid, v.worker_group_id, ${row.epoch}::integer,
      ${row.requiredIsolation}::text, ${row.baseVersionId}::uuid, at, at, at
    FROM environments v, to_timestamp(${row.createdAt}::float8 / 1000) AS at WHERE v.id = ${row.environmentId}`);
}

/** Moves it; what ends has a time of its end. */
export async function markMaterialization(
  tx: Tx,
  environmentId: string,
  materializationId: string,
  to: { status: MaterializationStatus; isolation?: Isolation; error?: string; lost?: boolean },
  now: number,
): Promise<void> {
  const isOver = to.status === "stopped" || to.status === "failed";
  await tx.query(sql`
    UPDATE materializations SET status = ${to.status}, isolation = coalesce(${to.isolation ?? null}::text, isolation),
      error = coalesce(${to.error ?? null}::text, error),
      lost_count = lost_count + CASE WHEN ${to.lost ?? false}::boolean THEN 1 ELSE 0 END,
      worker_id = CASE WHEN ${to.status}::text = 'requested' THEN NULL ELSE worker_id END,
      lease_expires_at = CASE WHEN ${isOver || to.status === "requested"}::boolean THEN NULL ELSE lease_expires_at END,
      started_at = CASE WHEN ${to.status}::text = 'live' THEN to_timestamp(${now}::float8 / 1000) ELSE started_at END,
      finished_at = CASE WHEN ${isOver}::boolean THEN to_timestamp(${now}::float8 / 1000) END,
      dirty = dirty AND NOT ${isOver}::boolean,
      active_at = greatest(active_at, to_timestamp(${now}::float8 / 1000)),
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

export async function markWantedAgain(
  tx: Tx,
  environmentId: string,
  materializationId: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET wanted_again = true, updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

/** Somebody did something with it: the idle stop counts from now. */
export async function touchMaterialization(
  tx: Tx,
  environmentId: string,
  materializationId: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET active_at = greatest(active_at, to_timestamp(${now}::float8 / 1000))
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

export type Claim = {
  workerId: string;
  workerGroupId: string;
  isolation: Isolation;
  limit: number;
  now: number;
  leaseExpiresAt: number;
};

/**
 * Gives requested materializations to a worker, oldest first. The workspace's row is the lock of all changes; those that
 * are being changed are left to the next look.
 */
export function claimMaterializations(
  db: Queryable,
  claim: Claim,
): Promise<{ environmentId: string; id: string; workspaceId: string }[]> {
  return db.query(sql`
    WITH chosen AS (
      SELECT m.environment_id, m.id, w.current_version_id
      FROM materializations m JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
      WHERE m.worker_group_id = ${claim.workerGroupId} AND m.status = 'requested'
        AND (m.required_isolation = 'process' OR ${claim.isolation}::text = 'namespace')
      ORDER BY m.id LIMIT ${claim.limit}
      FOR NO KEY UPDATE OF w SKIP LOCKED
    )
    UPDATE materializations m SET status = 'preparing', epoch = m.epoch + 1, worker_id = ${claim.workerId},
      base_version_id = c.current_version_id, lease_expires_at = to_timestamp(${claim.leaseExpiresAt}::float8 / 1000),
      updated_at = to_timestamp(${claim.now}::float8 / 1000)
    FROM chosen c
    WHERE m.environment_id = c.environment_id AND m.id = c.id AND m.status = 'requested'
    RETURNING m.environment_id AS "environmentId", m.id, m.workspace_id AS "workspaceId"`);
}

/** Gives a requested one to a worker whose run works in it. Under the workspace's lock. */
export async function markLeased(
  tx: Tx,
  environmentId: string,
  materializationId: string,
  lease: { workerId: string; now: number; leaseExpiresAt: number },
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations m SET status = 'preparing', epoch = m.epoch + 1, worker_id = ${lease.workerId},
      base_version_id = w.current_version_id, lease_expires_at = to_timestamp(${lease.leaseExpiresAt}::float8 / 1000),
      active_at = greatest(m.active_at, to_timestamp(${lease.now}::float8 / 1000)),
      updated_at = to_timestamp(${lease.now}::float8 / 1000)
    FROM workspaces w
    WHERE m.environment_id = ${environmentId} AND m.id = ${materializationId} AND m.status = 'requested'
      AND w.environment_id = m.environment_id AND w.id = m.workspace_id`);
}

export type Renewal = {
  environmentId: string;
  id: string;
  epoch: number;
  dirty: boolean;
  busy: boolean;
};

export type RenewedLease = {
  environmentId: string;
  id: string;
  epoch: number;
  status: MaterializationStatus;
  /** Its workspace is being deleted. */
  isDeleted: boolean;
};

/** Renews, in one statement, those that are still the worker's. Returns them; what is missing is lost. */
export function renewLeases(
  tx: Tx,
  workerId: string,
  renewals: readonly Renewal[],
  now: number,
  leaseExpiresAt: number,
): Promise<RenewedLease[]> {
  return tx.query<RenewedLease>(sql`
    WITH held AS (
      SELECT m.environment_id, m.id, r.dirty, r.busy
      FROM materializations m
      JOIN unnest(
        ${renewals.map((r) => r.environmentId)}::uuid[], ${renewals.map((r) => r.id)}::uuid[],
        ${renewals.map((r) => r.epoch)}::integer[], ${renewals.map((r) => r.dirty)}::boolean[],
        ${renewals.map((r) => r.busy)}::boolean[]
      ) AS r (environment_id, id, epoch, dirty, busy)
        ON m.environment_id = r.environment_id AND m.id = r.id AND m.epoch = r.epoch
      WHERE m.worker_id = ${workerId} AND m.status IN ('preparing', 'live', 'stopping')
      ORDER BY m.environment_id, m.id
      FOR UPDATE OF m
    )
    UPDATE materializations m SET lease_expires_at = to_timestamp(${leaseExpiresAt}::float8 / 1000), dirty = h.dirty,
      active_at = CASE WHEN h.busy THEN greatest(m.active_at, to_timestamp(${now}::float8 / 1000)) ELSE m.active_at END
    FROM held h, workspaces w
    WHERE m.environment_id = h.environment_id AND m.id = h.id AND w.environment_id = m.environment_id AND w.id = m.workspace_id
    RETURNING m.environment_id AS "environmentId", m.id, m.epoch, m.status, w.status = 'deleting' AS "isDeleted"`);
}

/** What it had to commit is committed. */
export async function markCommitted(
  tx: Tx,
  environmentId: string,
  materializationId: string,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET dirty = false, active_at = greatest(active_at, to_timestamp(${now}::float8 / 1000))
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

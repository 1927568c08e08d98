import type { Isolation, MaterializationStatus, Uuid } from "@keelson/contract";
import { CLOCK_LEAD_MS } from "../../clock.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { claimerOf } from "../workers/claimer-reads.ts";
import { MAX_LEASE_MS } from "../workers/worker.ts";

export type MaterializationInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"mat">;
  workspaceId: Uuid<"ws">;
  requiredIsolation: Isolation;
  baseVersionId: Uuid<"wsv">;
  createdAt: number;
  /** Of the workspace. */
  lastActivityAt: number;
};

/** What a workspace shows of its newest materialization. */
export type NewestMaterialization = {
  materializationId: Uuid<"mat">;
  materializationStatus: MaterializationStatus;
  isolation: Isolation | null;
  workerId: Uuid<"wkr"> | null;
  baseVersionId: Uuid<"wsv">;
  dirty: boolean;
  startedAt: number | null;
  error: string | null;
  leaseExpiresAt: number | null;
};

/** Makes it the workspace's newest, with the epoch of the last one. Under the workspace's lock. */
export async function insertMaterialization(
  tx: Tx,
  row: MaterializationInsert,
): Promise<NewestMaterialization> {
  const [inserted] = await tx.query<NewestMaterialization>(sql`
    WITH pointer AS (
      UPDATE workspaces SET materialization_id = ${row.id}, updated_at = ${timestamp(row.createdAt)},
        last_activity_at = ${timestamp(row.lastActivityAt)}
      WHERE environment_id = ${row.environmentId} AND id = ${row.workspaceId}
    ), last AS (
      SELECT coalesce(max(epoch), 0) AS epoch FROM materializations
      WHERE environment_id = ${row.environmentId} AND workspace_id = ${row.workspaceId}
    )
    INSERT INTO materializations AS m (environment_id, id, workspace_id, worker_group_id, epoch, required_isolation, base_version_id,
      active_at, created_at, updated_at)
    SELECT ${row.environmentId}::uuid, ${row.id}::uuid, ${row.workspaceId}::uuid, v.worker_group_id, last.epoch,
      ${row.requiredIsolation}::text, ${row.baseVersionId}::uuid, at, at, at
    FROM environments v, last, ${timestamp(row.createdAt)} AS at WHERE v.id = ${row.environmentId}
    RETURNING m.id AS materialization_id, m.status AS materialization_status, m.isolation, m.worker_id, m.base_version_id, m.dirty,
      m.started_at, m.error, m.lease_expires_at`);
  if (inserted === undefined) throw new Error("A materialization is not there after its insert.");
  return inserted;
}

/** Moves it; what ends has a time of its end. */
export async function markMaterialization(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  to: {
    status: MaterializationStatus;
    isolation?: Isolation;
    error?: string;
    lost?: boolean;
    discarded?: boolean;
    lostVersionId?: Uuid<"wsv">;
  },
  now: number,
): Promise<void> {
  const isOver = to.status === "stopped" || to.status === "failed";
  await tx.query(sql`
    UPDATE materializations SET status = ${to.status}, isolation = coalesce(${to.isolation ?? null}::text, isolation),
      error = CASE WHEN ${to.status}::text = 'stopped' THEN ${to.error ?? null}::text ELSE coalesce(${to.error ?? null}::text, error) END,
      kept = kept OR ${to.status}::text = 'uncommitted',
      discarded_at = CASE WHEN ${to.discarded ?? false}::boolean THEN ${timestamp(now)} ELSE discarded_at END,
      lost_version_id = ${to.lostVersionId ?? null}::uuid,
      lost_count = lost_count + CASE WHEN ${to.lost ?? false}::boolean THEN 1 ELSE 0 END,
      worker_id = CASE WHEN ${to.status}::text = 'requested' THEN NULL ELSE worker_id END,
      lease_expires_at = CASE WHEN ${isOver || to.status === "requested"}::boolean THEN NULL ELSE lease_expires_at END,
      started_at = CASE WHEN ${to.status}::text = 'live' THEN ${timestamp(now)} ELSE started_at END,
      finished_at = CASE WHEN ${isOver}::boolean THEN ${timestamp(now)} END,
      dirty = (dirty OR ${to.status}::text = 'uncommitted') AND NOT ${isOver}::boolean,
      active_at = greatest(active_at, ${timestamp(now)}),
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

/** Whether another materialization is to follow one that is stopping. */
export async function markWantedAgain(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  isWanted: boolean,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET wanted_again = ${isWanted}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

export type Claim = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  isolation: Isolation;
  limit: number;
  now: number;
  leaseExpiresAt: number;
  /** The worker says something with this call itself. */
  calledAt: number;
  /** A worker that was not heard since is given nothing. */
  heardAfter: number;
};

/**
 * Gives requested materializations to a worker that is active and heard, oldest first. The workspace's row is the lock of all changes; those that
 * are being changed are left to the next look.
 */
export function claimMaterializations(
  db: Queryable,
  claim: Claim,
): Promise<{ environmentId: Uuid<"env">; id: Uuid<"mat">; workspaceId: Uuid<"ws"> }[]> {
  return db.query(sql`
    WITH chosen AS (
      SELECT m.environment_id, m.id, w.current_version_id
      FROM materializations m JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
      WHERE m.worker_group_id = ${claim.workerGroupId} AND m.status = 'requested'
        AND (m.required_isolation = 'process' OR ${claim.isolation}::text = 'namespace')
        AND EXISTS (SELECT FROM workers k WHERE k.id = ${claim.workerId} AND k.status = 'active'
          AND greatest(k.last_seen_at, ${timestamp(claim.calledAt)}) > ${timestamp(claim.heardAfter)})
      ORDER BY m.id LIMIT ${claim.limit}
      FOR NO KEY UPDATE OF w SKIP LOCKED
    ), claimer AS (${claimerOf(claim.workerId, sql`chosen`)})
    UPDATE materializations m SET status = 'preparing', epoch = m.epoch + 1, worker_id = ${claim.workerId},
      base_version_id = c.current_version_id, lease_expires_at = ${timestamp(claim.leaseExpiresAt)},
      updated_at = ${timestamp(claim.now)}
    FROM chosen c
    WHERE m.environment_id = c.environment_id AND m.id = c.id AND m.status = 'requested'
      AND EXISTS (SELECT FROM claimer)
    RETURNING m.environment_id, m.id, m.workspace_id`);
}

/** Gives a requested one to a worker whose run works in it. Under the workspace's lock. */
export async function markLeased(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  lease: { workerId: Uuid<"wkr">; now: number; leaseExpiresAt: number },
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations m SET status = 'preparing', epoch = m.epoch + 1, worker_id = ${lease.workerId},
      base_version_id = w.current_version_id, lease_expires_at = ${timestamp(lease.leaseExpiresAt)},
      active_at = greatest(m.active_at, ${timestamp(lease.now)}),
      updated_at = ${timestamp(lease.now)}
    FROM workspaces w
    WHERE m.environment_id = ${environmentId} AND m.id = ${materializationId} AND m.status = 'requested'
      AND w.environment_id = m.environment_id AND w.id = m.workspace_id`);
}

export type Renewal = {
  environmentId: Uuid<"env">;
  id: Uuid<"mat">;
  epoch: number;
  dirty: boolean;
  busy: boolean;
};

export type RenewedLease = {
  environmentId: Uuid<"env">;
  id: Uuid<"mat">;
  epoch: number;
  status: MaterializationStatus;
  /** Its workspace is being deleted. */
  isDeleted: boolean;
};

/** Renews, in one statement, those that are still the worker's. Returns them; what is missing is lost. */
export function renewLeases(
  tx: Tx,
  workerId: Uuid<"wkr">,
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
      WHERE m.worker_id = ${workerId} AND m.status IN ('preparing', 'live', 'stopping', 'uncommitted')
      ORDER BY m.environment_id, m.id
      FOR UPDATE OF m
    )
    UPDATE materializations m SET lease_expires_at = ${timestamp(leaseExpiresAt)},
      dirty = h.dirty OR m.status = 'uncommitted' OR (m.status = 'stopping' AND m.kept),
      active_at = CASE WHEN h.busy THEN greatest(m.active_at, ${timestamp(now)}) ELSE m.active_at END
    FROM held h, workspaces w
    WHERE m.environment_id = h.environment_id AND m.id = h.id AND w.environment_id = m.environment_id AND w.id = m.workspace_id
    RETURNING m.environment_id, m.id, m.epoch, m.status, w.status = 'deleting' AS is_deleted`);
}

/** Its worker is to commit what it keeps now, and has the time of a lease to be heard. */
export async function markRecovering(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  now: number,
  leaseExpiresAt: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET status = 'stopping', lease_expires_at = ${timestamp(leaseExpiresAt)},
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${materializationId} AND status = 'uncommitted'`);
}

/**
 * A worker found folders in quarantine: those that are uncommitted and were of another worker of its group are its own from
 * now on, under their epoch; that other one is an earlier process on the same folder. The workspace's row is the lock of all
 * changes.
 */
export async function adoptUncommitted(
  db: Queryable,
  worker: { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> },
  found: readonly { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number }[],
  now: number,
): Promise<void> {
  await db.query(sql`
    WITH chosen AS (
      SELECT m.environment_id, m.id
      FROM unnest(${found.map((m) => m.environmentId)}::uuid[], ${found.map((m) => m.id)}::uuid[],
        ${found.map((m) => m.epoch)}::integer[]) AS i (environment_id, id, epoch)
      JOIN materializations m ON m.environment_id = i.environment_id AND m.id = i.id AND m.epoch = i.epoch
      JOIN workspaces w ON w.environment_id = m.environment_id AND w.id = m.workspace_id
      WHERE m.worker_group_id = ${worker.workerGroupId} AND m.kept AND m.status IN ('uncommitted', 'stopping')
        AND m.worker_id <> ${worker.workerId}
      ORDER BY w.environment_id, w.id
      FOR NO KEY UPDATE OF w
    )
    UPDATE materializations m SET worker_id = ${worker.workerId}, updated_at = ${timestamp(now)}
    FROM chosen c
    WHERE m.environment_id = c.environment_id AND m.id = c.id AND m.kept AND m.status IN ('uncommitted', 'stopping')`);
}

/** What was lost with a worker is there again: that worker, or a later process on its folder, keeps it. */
export async function markTakenBack(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  to: { workerId: Uuid<"wkr">; error: string; leaseExpiresAt: number },
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET status = 'uncommitted', kept = true, dirty = true, error = ${to.error}, worker_id = ${to.workerId},
      lease_expires_at = ${timestamp(to.leaseExpiresAt)}, finished_at = NULL, lost_version_id = NULL,
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

/** What it had to commit is committed; one that was uncommitted stays dirty until its worker says that it has nothing left. */
export async function markCommitted(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationId: Uuid<"mat">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE materializations SET dirty = kept AND status IN ('stopping', 'uncommitted'), active_at = greatest(active_at, ${timestamp(now)})
    WHERE environment_id = ${environmentId} AND id = ${materializationId}`);
}

/** Leases that end later than any can: who granted or renewed them had a clock that was ahead. */
export async function shortenWorkspaceLeases(
  db: Queryable,
  { now, leaseDurationMs }: { now: number; leaseDurationMs: number },
): Promise<void> {
  await db.query(sql`
    UPDATE materializations SET lease_expires_at = ${timestamp(now + leaseDurationMs)}
    WHERE status IN ('preparing', 'live', 'stopping')
      AND lease_expires_at > ${timestamp(now + MAX_LEASE_MS + CLOCK_LEAD_MS)}`);
}

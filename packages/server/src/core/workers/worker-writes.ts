import type { Isolation, Uuid } from "@keelson/contract";
import { CLOCK_LEAD_MS } from "../../clock.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { heard, type Watch } from "./silence-reads.ts";
import { holdsNothing, WORKER_COLUMNS, type WorkerRow } from "./worker-reads.ts";
import type { StoredWorkerStatus } from "./worker.ts";

export type WorkerInsert = {
  id: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  name: string;
  protocolVersion: number;
  createdAt: number;
};

export async function insertWorker(tx: Tx, worker: WorkerInsert): Promise<void> {
  await tx.send(sql`
    INSERT INTO workers (id, worker_group_id, name, protocol_version, last_seen_at, heard_since, created_at, updated_at)
    SELECT ${worker.id}::uuid, ${worker.workerGroupId}::uuid, ${worker.name}::text, ${worker.protocolVersion}::integer, at, at, at, at
    FROM ${timestamp(worker.createdAt)} AS at`);
}

export type TokenInsert = { digest: Buffer; workerId: Uuid<"wkr">; createdAt: number; expiresAt: number };

export async function insertWorkerToken(tx: Tx, token: TokenInsert): Promise<void> {
  await tx.send(sql`
    INSERT INTO worker_tokens (digest, worker_id, created_at, expires_at)
    VALUES (${token.digest}, ${token.workerId}, ${timestamp(token.createdAt)},
      ${timestamp(token.expiresAt)})`);
}

/** A worker that presents a token has no use for those that expired before: only its last ones say who it is. */
export async function deleteSupersededTokens(
  tx: Tx,
  workerId: Uuid<"wkr">,
  presented: Buffer,
  now: number,
): Promise<void> {
  await tx.send(sql`
    DELETE FROM worker_tokens
    WHERE worker_id = ${workerId} AND digest <> ${presented} AND expires_at < ${timestamp(now)}`);
}

/** Tokens that expired before then, a bounded number. */
export async function deleteExpiredTokens(db: Queryable, before: number): Promise<void> {
  await db.query(sql`
    DELETE FROM worker_tokens WHERE digest IN (
      SELECT digest FROM worker_tokens WHERE expires_at < ${timestamp(before)}
      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED
    )`);
}

export type Registration = {
  name: string | null;
  capacity: { executions: number; workspaces: number };
  /** JSON text. */
  labels: string;
  version: string | null;
  nodeVersion: string | null;
  /** JSON text. */
  platform: string | null;
  /** The requirements of deployments that it meets. */
  meets: string[];
  isolation: Isolation | null;
  isolationProblem: string | null;
  taskIsolation: Isolation | null;
  taskIsolationProblem: string | null;
  protocolVersion: number;
};

export async function updateRegistration(
  tx: Tx,
  workerId: Uuid<"wkr">,
  registration: Registration,
  now: number,
): Promise<void> {
  const {
    name,
    capacity,
    labels,
    version,
    nodeVersion,
    platform,
    meets,
    isolation,
    isolationProblem,
    protocolVersion,
  } = registration;
  const { taskIsolation, taskIsolationProblem } = registration;
  await tx.send(sql`
    UPDATE workers SET name = coalesce(${name}::text, name), capacity_executions = ${capacity.executions},
      capacity_workspaces = ${capacity.workspaces}, in_use_executions = 0, in_use_workspaces = 0, labels = ${labels},
      version = ${version}, node_version = ${nodeVersion}, platform = ${platform}, meets = ${meets}::text[],
      isolation = ${isolation}, isolation_problem = ${isolationProblem},
      task_isolation = ${taskIsolation}, task_isolation_problem = ${taskIsolationProblem}, protocol_version = ${protocolVersion},
      registered_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    WHERE id = ${workerId}`);
}

export async function markWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  status: StoredWorkerStatus,
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE workers SET status = ${status}, updated_at = ${timestamp(now)} WHERE id = ${workerId}`);
}

/** The worker was heard, maybe after a silence; `inUse` is null when it did not say. @returns it, null when there is none */
export async function touchWorker(
  tx: Tx,
  workerId: Uuid<"wkr">,
  inUse: { executions: number; workspaces: number } | null,
  { now, leaseDurationMs }: Watch,
): Promise<WorkerRow | null> {
  const [row] = await tx.query<WorkerRow>(sql`
    UPDATE workers SET in_use_executions = coalesce(${inUse?.executions ?? null}::integer, in_use_executions),
      in_use_workspaces = coalesce(${inUse?.workspaces ?? null}::integer, in_use_workspaces),
      ${heard(now, leaseDurationMs)}
    WHERE id = ${workerId} RETURNING ${WORKER_COLUMNS}`);
  return row ?? null;
}

/** The worker was heard to ask for workspaces, with what its machine can do. Written only when that is new. */
export async function noteWorkerIsolation(
  db: Queryable,
  workerId: Uuid<"wkr">,
  isolation: Isolation,
): Promise<void> {
  await db.query(sql`
    UPDATE workers SET isolation = ${isolation} WHERE id = ${workerId} AND isolation IS DISTINCT FROM ${isolation}`);
}

/** Answers to lease calls, but the newest ones of each worker: whoever calls again has got the older ones. */
export async function deleteOldLeaseRequests(db: Queryable, kept: number): Promise<void> {
  await db.query(sql`
    DELETE FROM lease_requests l USING (
      SELECT worker_id, lease_request_id,
        row_number() OVER (PARTITION BY worker_id ORDER BY leased_at DESC, lease_request_id DESC) AS place
      FROM lease_requests
    ) p
    WHERE l.worker_id = p.worker_id AND l.lease_request_id = p.lease_request_id AND p.place > ${kept}`);
}

/** Workers that hold nothing and were not heard since, a bounded number, with their tokens. */
export async function deleteGoneWorkers(db: Queryable, heardBefore: number): Promise<void> {
  await db.query(sql`
    WITH gone AS (
      SELECT w.id FROM workers w
      WHERE w.last_seen_at < ${timestamp(heardBefore)}
        AND ${holdsNothing}
      ORDER BY w.id LIMIT 500 FOR UPDATE SKIP LOCKED
    ), tokens AS (
      DELETE FROM worker_tokens t USING gone g WHERE t.worker_id = g.id
    ), requests AS (
      DELETE FROM lease_requests l USING gone g WHERE l.worker_id = g.id
    )
    DELETE FROM workers w USING gone g WHERE w.id = g.id`);
}

/** Workers that a clock which was ahead has heard after now: they were heard before it was set back, and no longer than that. */
export async function setHeardBack(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    UPDATE workers SET last_seen_at = least(last_seen_at, ${timestamp(now)}), heard_since = least(heard_since, ${timestamp(now)}),
      registered_at = least(registered_at, ${timestamp(now)})
    WHERE last_seen_at > ${timestamp(now + CLOCK_LEAD_MS)} OR heard_since > ${timestamp(now + CLOCK_LEAD_MS)}
      OR registered_at > ${timestamp(now + CLOCK_LEAD_MS)}`);
}

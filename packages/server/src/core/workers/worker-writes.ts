import type { Isolation } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { StoredWorkerStatus } from "./worker.ts";

export type WorkerInsert = {
  id: string;
  workerGroupId: string;
  name: string;
  protocolVersion: number;
  createdAt: number;
};

export async function insertWorker(tx: Tx, worker: WorkerInsert): Promise<void> {
  await tx.query(sql`
    INSERT INTO workers (id, worker_group_id, name, protocol_version, last_seen_at, created_at, updated_at)
    SELECT ${worker.id}::uuid, ${worker.workerGroupId}::uuid, ${worker.name}::text, ${worker.protocolVersion}::integer, at, at, at
    FROM to_timestamp(${worker.createdAt}::float8 / 1000) AS at`);
}

export type TokenInsert = { digest: Buffer; workerId: string; createdAt: number; expiresAt: number };

export async function insertWorkerToken(tx: Tx, token: TokenInsert): Promise<void> {
  await tx.query(sql`
    INSERT INTO worker_tokens (digest, worker_id, created_at, expires_at)
    VALUES (${token.digest}, ${token.workerId}, to_timestamp(${token.createdAt}::float8 / 1000),
      to_timestamp(${token.expiresAt}::float8 / 1000))`);
}

/** Expired tokens are of no use to anybody; a few go with each new one, and two that delete skip each other's. */
export async function deleteExpiredTokens(tx: Tx, now: number): Promise<void> {
  await tx.query(sql`
    DELETE FROM worker_tokens WHERE digest IN (
      SELECT digest FROM worker_tokens WHERE expires_at < to_timestamp(${now}::float8 / 1000)
      ORDER BY expires_at LIMIT 50 FOR UPDATE SKIP LOCKED
    )`);
}

export type Registration = {
  name: string | null;
  capacity: { executions: number; workspaces: number };
  /** JSON text. */
  labels: string;
  version: string | null;
  protocolVersion: number;
};

export async function updateRegistration(
  tx: Tx,
  workerId: string,
  registration: Registration,
  now: number,
): Promise<void> {
  const { name, capacity, labels, version, protocolVersion } = registration;
  await tx.query(sql`
    UPDATE workers SET name = coalesce(${name}::text, name), capacity_executions = ${capacity.executions},
      capacity_workspaces = ${capacity.workspaces}, in_use_executions = 0, in_use_workspaces = 0, labels = ${labels},
      version = ${version}, protocol_version = ${protocolVersion}, last_seen_at = to_timestamp(${now}::float8 / 1000),
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE id = ${workerId}`);
}

export async function markWorker(
  tx: Tx,
  workerId: string,
  status: StoredWorkerStatus,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workers SET status = ${status}, updated_at = to_timestamp(${now}::float8 / 1000) WHERE id = ${workerId}`);
}

/** The worker was heard; `inUse` is null when it did not say. */
export async function touchWorker(
  tx: Tx,
  workerId: string,
  inUse: { executions: number; workspaces: number } | null,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE workers SET in_use_executions = coalesce(${inUse?.executions ?? null}::integer, in_use_executions),
      in_use_workspaces = coalesce(${inUse?.workspaces ?? null}::integer, in_use_workspaces),
      last_seen_at = greatest(last_seen_at, to_timestamp(${now}::float8 / 1000))
    WHERE id = ${workerId}`);
}

/** The worker was heard to ask for workspaces, with what its machine can do. Written only when that is new. */
export async function noteWorkerIsolation(
  db: Queryable,
  workerId: string,
  isolation: Isolation,
): Promise<void> {
  await db.query(sql`
    UPDATE workers SET isolation = ${isolation} WHERE id = ${workerId} AND isolation IS DISTINCT FROM ${isolation}`);
}

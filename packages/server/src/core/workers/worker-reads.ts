import type { WorkerStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { StoredWorkerStatus } from "./worker.ts";

/** `labels` is JSON text, times are milliseconds. */
export type WorkerRow = {
  id: string;
  workerGroupId: string;
  name: string;
  status: StoredWorkerStatus;
  capacityExecutions: number;
  capacityWorkspaces: number;
  inUseExecutions: number;
  inUseWorkspaces: number;
  labels: string;
  protocolVersion: number;
  version: string | null;
  lastSeenAt: number;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  id, worker_group_id AS "workerGroupId", name, status, capacity_executions AS "capacityExecutions",
  capacity_workspaces AS "capacityWorkspaces", in_use_executions AS "inUseExecutions", in_use_workspaces AS "inUseWorkspaces",
  labels, protocol_version AS "protocolVersion", version, last_seen_at AS "lastSeenAt", created_at AS "createdAt",
  updated_at AS "updatedAt"`);

/** Null leaves a condition out. */
export type WorkerFilter = { workerGroupId: string | null; status: WorkerStatus | null; heardSince: number };

/** Newest first, after `before`. A worker looks lost that has not been heard since, unless it is drained. */
export function listWorkers(
  db: Queryable,
  filter: WorkerFilter,
  before: string | null,
  limit: number,
): Promise<WorkerRow[]> {
  const { workerGroupId, status, heardSince } = filter;
  return db.query<WorkerRow>(sql`
    SELECT ${COLUMNS} FROM workers
    WHERE (${before}::uuid IS NULL OR id < ${before}::uuid)
      AND (${workerGroupId}::uuid IS NULL OR worker_group_id = ${workerGroupId}::uuid)
      AND (${status}::text IS NULL OR ${status}::text = CASE
        WHEN status <> 'drained' AND last_seen_at < to_timestamp(${heardSince}::float8 / 1000) THEN 'lost' ELSE status END)
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findWorker(db: Queryable, workerId: string): Promise<WorkerRow | null> {
  const [row] = await db.query<WorkerRow>(sql`SELECT ${COLUMNS} FROM workers WHERE id = ${workerId}`);
  return row ?? null;
}

export async function lockWorker(tx: Tx, workerId: string): Promise<WorkerRow | null> {
  const [row] = await tx.query<WorkerRow>(
    sql`SELECT ${COLUMNS} FROM workers WHERE id = ${workerId} FOR NO KEY UPDATE`,
  );
  return row ?? null;
}

/** Executions and workspaces that it has. */
export async function countLeases(db: Queryable, workerId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT (SELECT count(*) FROM executions WHERE worker_id = ${workerId}) + (
      SELECT count(*) FROM materializations
      WHERE worker_id = ${workerId} AND status IN ('preparing', 'live', 'stopping')) AS count`);
  return row?.count ?? 0;
}

/** The group that a valid enrollment token admits to. */
export async function findEnrollment(
  db: Queryable,
  digest: Buffer,
  now: number,
): Promise<{ workerGroupId: string } | null> {
  const [row] = await db.query<{ workerGroupId: string }>(sql`
    SELECT worker_group_id AS "workerGroupId" FROM enrollment_tokens
    WHERE digest = ${digest} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > to_timestamp(${now}::float8 / 1000))`);
  return row ?? null;
}

export async function isWorkerToken(
  db: Queryable,
  digest: Buffer,
  workerId: string,
  now: number,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM worker_tokens
    WHERE digest = ${digest} AND worker_id = ${workerId} AND revoked_at IS NULL AND expires_at > to_timestamp(${now}::float8 / 1000)`);
  return rows.length === 1;
}

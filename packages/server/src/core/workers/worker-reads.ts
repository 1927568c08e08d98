import type { Isolation, WorkerStatus, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { StoredWorkerStatus } from "./worker.ts";

/** `labels` and `platform` are JSON text, times are milliseconds. */
export type WorkerRow = {
  id: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  name: string;
  status: StoredWorkerStatus;
  capacityExecutions: number;
  capacityWorkspaces: number;
  inUseExecutions: number;
  inUseWorkspaces: number;
  labels: string;
  protocolVersion: number;
  version: string | null;
  nodeVersion: string | null;
  platform: string | null;
  isolation: Isolation | null;
  isolationProblem: string | null;
  taskIsolation: Isolation | null;
  taskIsolationProblem: string | null;
  lastSeenAt: number;
  createdAt: number;
  updatedAt: number;
};

/** Of a `WorkerRow`. */
export const WORKER_COLUMNS = rawSql(`
  id, worker_group_id, name, status, capacity_executions,
  capacity_workspaces, in_use_executions, in_use_workspaces,
  labels, protocol_version, version, node_version, platform,
  isolation, isolation_problem,
  task_isolation, task_isolation_problem,
  last_seen_at, created_at, updated_at`);

/** Null leaves a condition out. */
export type WorkerFilter = {
  workerGroupId: Uuid<"wgrp"> | null;
  status: WorkerStatus | null;
  heardSince: number;
};

/** Newest first, after `before`. A worker looks lost that has not been heard since, unless it is drained. */
export function listWorkers(
  db: Queryable,
  filter: WorkerFilter,
  before: string | null,
  limit: number,
): Promise<WorkerRow[]> {
  const { workerGroupId, status, heardSince } = filter;
  return db.query<WorkerRow>(sql`
    SELECT ${WORKER_COLUMNS} FROM workers
    WHERE ${isBefore(sql`id`, before)}
      AND (${workerGroupId}::uuid IS NULL OR worker_group_id = ${workerGroupId}::uuid)
      AND (${status}::text IS NULL OR ${status}::text = CASE
        WHEN status <> 'drained' AND last_seen_at < ${timestamp(heardSince)} THEN 'lost' ELSE status END)
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findWorker(db: Queryable, workerId: Uuid<"wkr">): Promise<WorkerRow | null> {
  const [row] = await db.query<WorkerRow>(sql`SELECT ${WORKER_COLUMNS} FROM workers WHERE id = ${workerId}`);
  return row ?? null;
}

/** Claims for the worker go on: for who does not change what work it may get. */
export async function lockWorker(tx: Tx, workerId: Uuid<"wkr">): Promise<WorkerRow | null> {
  const [row] = await tx.query<WorkerRow>(
    sql`SELECT ${WORKER_COLUMNS} FROM workers WHERE id = ${workerId} FOR NO KEY UPDATE`,
  );
  return row ?? null;
}

/** The same, after what is just being given to it: what comes later finds its new status. */
export async function lockWorkerAfterClaims(tx: Tx, workerId: Uuid<"wkr">): Promise<WorkerRow | null> {
  const [row] = await tx.query<WorkerRow>(
    sql`SELECT ${WORKER_COLUMNS} FROM workers WHERE id = ${workerId} FOR UPDATE`,
  );
  return row ?? null;
}

/** Executions and workspaces that it has. */
export async function countLeases(db: Queryable, workerId: Uuid<"wkr">): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT (SELECT count(*) FROM executions WHERE worker_id = ${workerId}) + (
      SELECT count(*) FROM materializations
      WHERE worker_id = ${workerId} AND status IN ('preparing', 'live', 'stopping')) AS count`);
  return row?.count ?? 0;
}

/** Of a worker `w`. */
export const holdsNothing = sql`
  NOT EXISTS (SELECT FROM executions e WHERE e.worker_id = w.id)
  AND NOT EXISTS (SELECT FROM materializations m WHERE m.worker_id = w.id AND m.status IN ('preparing', 'live', 'stopping'))`;

const IDLE_DRAINING = sql`SELECT w.id FROM workers w WHERE w.status = 'draining' AND ${holdsNothing}`;

/** A condition: a draining worker holds nothing. */
export const hasIdleDraining = (): Sql => sql`EXISTS (${IDLE_DRAINING})`;

export async function listIdleDraining(db: Queryable): Promise<Uuid<"wkr">[]> {
  const rows = await db.query<{ id: Uuid<"wkr"> }>(sql`${IDLE_DRAINING} ORDER BY w.id`);
  return rows.map(({ id }) => id);
}

/** The group that a valid enrollment token admits to. */
export async function findEnrollment(
  db: Queryable,
  digest: Buffer,
  now: number,
): Promise<{ workerGroupId: Uuid<"wgrp"> } | null> {
  const [row] = await db.query<{ workerGroupId: Uuid<"wgrp"> }>(sql`
    SELECT worker_group_id FROM enrollment_tokens
    WHERE digest = ${digest} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${timestamp(now)})`);
  return row ?? null;
}

/** Whether it is a token of the worker that has not expired. */
export async function isWorkerToken(
  db: Queryable,
  digest: Buffer,
  workerId: Uuid<"wkr">,
  now: number,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM worker_tokens
    WHERE digest = ${digest} AND worker_id = ${workerId} AND revoked_at IS NULL AND expires_at > ${timestamp(now)}`);
  return rows.length === 1;
}

/** Whether it is, or was before it expired, a token of that worker, which is of the group. */
export async function isTokenOfGroup(
  db: Queryable,
  digest: Buffer,
  workerId: Uuid<"wkr">,
  workerGroupId: Uuid<"wgrp">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM worker_tokens t JOIN workers w ON w.id = t.worker_id
    WHERE t.digest = ${digest} AND t.worker_id = ${workerId} AND t.revoked_at IS NULL
      AND w.worker_group_id = ${workerGroupId}`);
  return rows.length === 1;
}

/** Whether the worker is there and was heard since. */
export async function hasBeenHeard(
  db: Queryable,
  workerId: Uuid<"wkr"> | null,
  heardAfter: number,
): Promise<boolean> {
  if (workerId === null) return false;
  const [row] = await db.query<{ heard: boolean }>(sql`
    SELECT last_seen_at > ${timestamp(heardAfter)} AS heard FROM workers WHERE id = ${workerId}`);
  return row?.heard ?? false;
}

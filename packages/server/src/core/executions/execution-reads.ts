import type { Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { amongLive } from "../../db/among-live.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { isGivenUp, type Watch } from "../workers/silence-reads.ts";
import type { Among, LiveRow } from "../../live-ids.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { Execution, ExecutionKey, RowVersion } from "./execution.ts";

const COLUMNS = rawSql(`
  e.environment_id, e.run_id, e.worker_group_id, e.status, e.ready, e.priority, e.workspace_id, e.required_isolation, e.queue,
  e.concurrency_key, e.limited, e.admitted, e.available_at, e.expires_at,
  e.attempt_number, e.continuations, e.attempts_before, e.first_leased_at, e.attempt_started_at, e.started_at,
  e.deadline_at, e.max_duration_ms, e.epoch, e.lease_id,
  e.worker_id, e.lease_expires_at, e.applied_sequence, e.recovering,
  e.cancel_requested_at, e.event_sequence, e.log_sequence,
  e.stdout_bytes, e.stderr_bytes, e.metadata,
  e.end_awaited, e.journal_sequence, e.journal_bytes,
  e.wait_count, e.active_ms, e.resumed_at, e.setbacks`);

/** With the version that it has once this transaction has written it. */
export type LockedExecution = Execution & { nextVersion: RowVersion };

/**
 * Locks live rows in key order, which every transaction that locks several keeps, so that two never wait for each other.
 * Found by two lists, not by a join with pairs: run ids are unique, so an environment of one key has no run of another.
 */
export function lockExecutions(tx: Tx, keys: readonly ExecutionKey[]): Promise<LockedExecution[]> {
  return tx.query<LockedExecution>(sql`
    SELECT ${COLUMNS}, pg_current_xact_id()::xid::text AS next_version
    FROM executions e
    WHERE ${amongRuns(keys)}
    ORDER BY e.environment_id, e.run_id
    FOR UPDATE OF e`);
}

/**
 * That executions e are of these runs. By a join with the list it would take PostgreSQL, which after a vacuum of the empty
 * table takes it for empty however much it holds since, 2.5 s for the ends of 100 runs beside 9,000 others: it reads all of
 * them for each. Where a join is needed nevertheless, this bounds what it reads.
 */
export const amongRuns = (keys: readonly ExecutionKey[]): Sql => sql`
  e.environment_id = ANY(${[...new Set(keys.map((key) => key.environmentId))]}::uuid[])
  AND e.run_id = ANY(${keys.map((key) => key.runId)}::uuid[])`;

/** What a loop takes at once; rows that another transaction holds are left for the next round. */
export const SWEEP_LIMIT = 500;

const ofSweep = (loop: string, now: number): Sql =>
  isNotSetAside(loop, sql`e.environment_id`, sql`e.run_id`, now);

/** A worker `w` can take over a run `e`: its deployment, its isolation, and the workspace that the run's worker has. */
const CAN_CONTINUE = sql`
  w.capacity_executions > 0
  AND ${canIsolate(sql`coalesce(w.task_isolation, 'process')`, sql`coalesce(e.required_isolation, 'process')`)}
  AND (e.workspace_id IS NULL OR w.capacity_workspaces > 0 AND NOT EXISTS (
    SELECT FROM materializations m
    WHERE m.environment_id = e.environment_id AND m.workspace_id = e.workspace_id AND m.worker_id = e.worker_id
      AND NOT ${canIsolate(sql`coalesce(w.isolation, 'process')`, sql`m.required_isolation`)}))
  AND EXISTS (
    SELECT FROM runs r JOIN deployments d ON d.environment_id = r.environment_id AND d.id = r.deployment_id
    WHERE r.environment_id = e.environment_id AND r.id = e.run_id
      AND (d.requirement IS NULL OR d.requirement = ANY(w.meets)))`;

const LEASE = {
  workerId: sql`e.worker_id`,
  workerGroupId: sql`e.worker_group_id`,
  endedAt: sql`e.lease_expires_at`,
  outlastsProcess: false,
  canContinue: CAN_CONTINUE,
};

/** How long a worker may be late to end an attempt, besides what its silence is judged by. */
export type Overrun = Watch & { graceMs: number };

/**
 * Leased runs whose worker has not renewed in time and is given up, or whose attempt is over its time by more than the grace:
 * by its deadline where the worker is there, and by a cancellation always, as nobody waits for what it would still do.
 */
const overdue = ({ graceMs, ...watch }: Overrun): Sql => sql`
  e.worker_id IS NOT NULL
  AND (e.lease_expires_at <= ${timestamp(watch.now)} AND ${isGivenUp(LEASE, watch)}
    OR e.lease_expires_at > ${timestamp(watch.now)} AND e.deadline_at <= ${timestamp(watch.now - graceMs)}
    OR e.cancel_requested_at <= ${timestamp(watch.now - graceMs)})
  AND ${ofSweep("sweep-leases", watch.now)}`;

const due = (now: number): Sql => sql`e.available_at <= ${timestamp(now)} AND ${ofSweep("sweep-due", now)}`;

const expired = (now: number): Sql => sql`
  e.expires_at <= ${timestamp(now)} AND e.worker_id IS NULL
  AND ${ofSweep("sweep-expired", now)}`;

/** Conditions: whether there is anything for the sweep of that name. */
export const hasOverdue = (overrun: Overrun, live: Among | null): Sql => {
  const find = (isAmong: Sql): Sql => sql`
    SELECT FROM executions e WHERE ${overdue(overrun)} AND ${isAmong} ORDER BY e.worker_id, e.lease_id`;
  // EXISTS by itself takes its query to want no order.
  return sql`EXISTS (SELECT FROM (${amongLive(live, sql`e.lease_id`, find)}) o)`;
};
export const hasDue = (now: number): Sql => sql`EXISTS (SELECT FROM executions e WHERE ${due(now)})`;
export const hasExpired = (now: number): Sql => sql`EXISTS (SELECT FROM executions e WHERE ${expired(now)})`;

/** In the order of the index of leased rows: the primary key's would read every queued run too. */
export function lockOverdueExecutions(tx: Tx, overrun: Overrun, limit: number): Promise<Execution[]> {
  return tx.query<Execution>(sql`
    SELECT ${COLUMNS} FROM executions e WHERE ${overdue(overrun)}
    ORDER BY e.worker_id LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);
}

/** Delayed starts and retries whose time has come. */
export function lockDueExecutions(tx: Tx, now: number, limit: number): Promise<Execution[]> {
  return tx.query<Execution>(sql`
    SELECT ${COLUMNS} FROM executions e WHERE ${due(now)}
    ORDER BY e.available_at LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);
}

/** Runs that no worker took within their time to live. */
export function lockExpiredExecutions(tx: Tx, now: number, limit: number): Promise<Execution[]> {
  return tx.query<Execution>(sql`
    SELECT ${COLUMNS} FROM executions e WHERE ${expired(now)}
    ORDER BY e.expires_at LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);
}

/** Whether a worker has a run that works in the workspace. */
export async function hasRunsInWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM executions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} AND worker_id IS NOT NULL LIMIT 1`);
  return rows.length === 1;
}

/** Whether a run of the workspace has not ended yet, wherever it is. */
export async function hasUnendedRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM executions
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} LIMIT 1`);
  return rows.length === 1;
}

/** Leases with an id before that one, of each worker. */
export const listLeases = (db: Queryable, before: string, live: Among | null): Promise<LiveRow[]> =>
  db.query<LiveRow>(
    amongLive(
      live,
      sql`e.lease_id`,
      (isAmong) => sql`
    SELECT e.worker_id AS group, e.lease_id AS id FROM executions e
    WHERE e.worker_id IS NOT NULL AND e.lease_id < ${before}::uuid AND ${isAmong}
    ORDER BY e.worker_id, e.lease_id`,
    ),
  );

/** How a worker's call names a lease of an execution. */
export type HeldKey = ExecutionKey & { workerId: Uuid<"wkr">; leaseId: Uuid<"lease">; epoch: number };

/** Locks a live row for a call of the worker that has it; false when its lease is another's, or over. */
export async function lockHeldExecution(tx: Tx, key: HeldKey): Promise<boolean> {
  const rows = await tx.query(sql`
    SELECT 1 AS held FROM executions
    WHERE environment_id = ${key.environmentId} AND run_id = ${key.runId} AND lease_id = ${key.leaseId}
      AND epoch = ${key.epoch} AND worker_id = ${key.workerId}
    FOR NO KEY UPDATE`);
  return rows.length === 1;
}

/** What of a leased run says where it works. */
export type HeldRun = {
  projectId: Uuid<"proj">;
  workspaceId: Uuid<"ws"> | null;
  deploymentId: Uuid<"dep">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
};

export async function findHeldRun(db: Queryable, key: HeldKey): Promise<HeldRun | null> {
  const [row] = await db.query<HeldRun>(sql`
    SELECT r.project_id, e.workspace_id, r.deployment_id,
      r.entrypoint_kind, r.entrypoint
    FROM executions e JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
    WHERE e.environment_id = ${key.environmentId} AND e.run_id = ${key.runId} AND e.lease_id = ${key.leaseId}
      AND e.epoch = ${key.epoch} AND e.worker_id = ${key.workerId}`);
  return row ?? null;
}

export type RunPolicy = ExecutionKey & { retry: string; metadata: string | null };

/** The immutable facts that some decisions need: the retry policy and the metadata at the start. */
export function findRunPolicies(db: Queryable, keys: readonly ExecutionKey[]): Promise<RunPolicy[]> {
  return db.query<RunPolicy>(sql`
    SELECT r.environment_id, r.id AS run_id, r.retry, r.metadata
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("runs", "r", sql`r.environment_id = k.environment_id AND r.id = k.run_id`)}`);
}

/** Those that went on because a wait settled of which their worker has not said that it heard. */
export async function findUnheard(
  db: Queryable,
  keys: readonly ExecutionKey[],
): Promise<ReadonlySet<Uuid<"run">>> {
  if (keys.length === 0) return new Set();
  const rows = await db.query<{ runId: Uuid<"run"> }>(sql`
    SELECT e.run_id
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("executions", "e", sql`e.environment_id = k.environment_id AND e.run_id = k.run_id`)}
    WHERE EXISTS (
      SELECT FROM run_waits w
      WHERE w.environment_id = e.environment_id AND w.run_id = e.run_id
        AND NOT w.accepted AND w.settled_at = e.resumed_at)`);
  return new Set(rows.map(({ runId }) => runId));
}

export type EndedLease = ExecutionKey & {
  leaseId: Uuid<"lease"> | null;
  epoch: number;
  appliedSequence: number;
};

/** Which lease ended these runs, and how far it was applied: a report repeated after the end is recognised by it. */
export function findEndedLeases(db: Queryable, keys: readonly ExecutionKey[]): Promise<EndedLease[]> {
  return db.query<EndedLease>(sql`
    SELECT x.environment_id, x.run_id, x.lease_id, x.epoch, x.applied_sequence
    FROM run_results x
    JOIN unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
      ON x.environment_id = k.environment_id AND x.run_id = k.run_id`);
}

/** Runs and all that they have started. Runs that ended are passed through to those that they had started. */
export async function listTree(
  tx: Tx,
  environmentId: Uuid<"env">,
  roots: readonly Uuid<"run">[],
): Promise<Uuid<"run">[]> {
  const tree = [...roots];
  for (let parents = roots; parents.length > 0;) {
    const children = await tx.query<{ runId: Uuid<"run"> }>(sql`
      SELECT id AS run_id FROM runs
      WHERE environment_id = ${environmentId} AND parent_run_id = ANY(${parents}::uuid[])`);
    parents = children.map((child) => child.runId);
    tree.push(...parents);
  }
  return tree;
}

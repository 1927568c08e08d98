import type { WorkerStatus } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";

/**
 * What an operator watches, of all environments together. It is read every ten seconds, so nothing here reads history: live
 * rows by their indexes, sums that are kept, and what PostgreSQL knows of itself. With a million ended runs, 50,000 ready ones and
 * the counts of 100 environments in all shards, the slowest of these takes 14 ms.
 */

export type LiveRuns = { queued: number; running: number; waiting: number };

/** From the counts that each transaction keeps. */
export async function countLiveRuns(db: Queryable): Promise<LiveRuns> {
  const [row] = await db.query<LiveRuns>(sql`
    SELECT coalesce(sum(count) FILTER (WHERE status IN ('queued', 'retry_delayed')), 0)::bigint AS queued,
      coalesce(sum(count) FILTER (WHERE status IN ('running', 'cancel_requested')), 0)::bigint AS running,
      coalesce(sum(count) FILTER (WHERE status = 'waiting'), 0)::bigint AS waiting
    FROM run_counts WHERE shard >= 0 AND status IN ('queued', 'retry_delayed', 'running', 'cancel_requested', 'waiting')`);
  if (row === undefined) throw new Error("A sum without a row.");
  return row;
}

/** More runs than that are not looked at. */
const READY_MAXIMUM = 100_000;

export type ReadyRuns = { ready: number; oldestReadyAt: number | null };

/** Runs that could start at once if there were a slot. */
export async function findReadyRuns(db: Queryable): Promise<ReadyRuns> {
  const [row] = await db.query<ReadyRuns>(sql`
    SELECT count(*) AS ready, min(r.updated_at) AS oldest_ready_at
    FROM (SELECT e.updated_at FROM executions e WHERE e.ready LIMIT ${READY_MAXIMUM}) r`);
  if (row === undefined) throw new Error("A sum without a row.");
  return row;
}

export type WorkerCount = { status: WorkerStatus; count: number };

export const countWorkers = (db: Queryable, now: number): Promise<WorkerCount[]> =>
  db.query<WorkerCount>(sql`
    SELECT k.status, count(*) AS count
    FROM (SELECT CASE WHEN w.status <> 'drained' AND w.last_seen_at < ${timestamp(now - LOST_AFTER_MS)}
        THEN 'lost' ELSE w.status END AS status FROM workers w) k
    GROUP BY k.status`);

/** By the index of tokens that can time out, in which each pending token is. */
export async function countOpenTokens(db: Queryable): Promise<number> {
  const [row] = await db.query<{ open: number }>(
    sql`SELECT count(*) AS open FROM (SELECT FROM tokens t WHERE t.status = 'pending' LIMIT ${READY_MAXIMUM}) k`,
  );
  if (row === undefined) throw new Error("A sum without a row.");
  return row.open;
}

export async function findDatabaseSize(db: Queryable): Promise<number> {
  const [row] = await db.query<{ bytes: number }>(sql`SELECT pg_database_size(current_database()) AS bytes`);
  if (row === undefined) throw new Error("PostgreSQL did not tell its size.");
  return row.bytes;
}

export type OldestSnapshot = {
  /** How long the oldest transaction with a snapshot is open; null where sessions of others cannot be seen. */
  seconds: number | null;
  /** How many transactions ago the oldest snapshot of all was taken, those of standbys and slots included. */
  transactions: number;
};

/**
 * What keeps PostgreSQL from removing dead rows. Sessions of other users are hidden from an account without
 * `pg_read_all_stats`: what is visible is a lower bound then, and is told only when it is one worth telling.
 */
export async function findOldestSnapshot(db: Queryable): Promise<OldestSnapshot> {
  const [row] = await db.query<OldestSnapshot>(sql`
    WITH sessions AS (
      SELECT a.backend_xmin, a.backend_xid, a.xact_start, a.backend_type IS NULL OR a.state IS NULL AND a.backend_type = 'client backend' AS is_hidden
      FROM pg_stat_activity a
      WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
    ), held AS (
      SELECT extract(epoch FROM clock_timestamp() - min(s.xact_start)
          FILTER (WHERE s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL))::float8 AS seconds,
        coalesce(bool_or(s.is_hidden), false) AS is_partial
      FROM sessions s
    )
    SELECT CASE WHEN h.is_partial AND coalesce(h.seconds, 0) < 1 THEN NULL ELSE greatest(0, coalesce(h.seconds, 0)) END AS seconds,
      coalesce((SELECT max(age(x.xmin)) FROM (
        SELECT s.backend_xmin AS xmin FROM sessions s UNION ALL SELECT s.backend_xid FROM sessions s
        UNION ALL SELECT r.backend_xmin FROM pg_stat_replication r
        UNION ALL SELECT l.xmin FROM pg_replication_slots l
        UNION ALL SELECT p.transaction FROM pg_prepared_xacts p WHERE p.database = current_database()
      ) x WHERE x.xmin IS NOT NULL), 0)::bigint AS transactions
    FROM held h`);
  if (row === undefined) throw new Error("PostgreSQL did not tell its sessions.");
  return row;
}

export type QueueVacuum = { vacuumedAt: number | null; deadRows: number };

/** The table of live runs: with many dead rows, each claim steps over them. */
export async function findQueueVacuum(db: Queryable): Promise<QueueVacuum> {
  const [row] = await db.query<QueueVacuum>(sql`
    SELECT greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed_at, s.n_dead_tup AS dead_rows
    FROM pg_stat_user_tables s WHERE s.schemaname = current_schema() AND s.relname = 'executions'`);
  return row ?? { vacuumedAt: null, deadRows: 0 };
}

/** Indexes that a migration asked for and no server has built yet. */
export async function countIndexBuilds(db: Queryable): Promise<number> {
  const [row] = await db.query<{ pending: number }>(
    sql`SELECT count(*) AS pending FROM index_builds WHERE built_at IS NULL`,
  );
  if (row === undefined) throw new Error("A sum without a row.");
  return row.pending;
}

import type { LiveRunStatus, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";
import type { RunCountSample, RunTotals } from "./run-activity.ts";

type TotalsRow = Omit<RunTotals, "system_failed"> & { systemFailed: number; at: number | null };

const toTotals = ({
  created,
  succeeded,
  failed,
  cancelled,
  expired,
  systemFailed,
}: TotalsRow): RunTotals => ({
  created,
  succeeded,
  failed,
  cancelled,
  expired,
  system_failed: systemFailed,
});

/**
 * An environment's samples since a time, with the newest from before it, and the totals as they are: of one moment, so
 * that no sample is ahead of them. At most three hours of minutes and the counts' shards are read.
 */
export async function readRunTotals(
  db: Queryable,
  environmentId: Uuid<"env">,
  since: number,
): Promise<{ samples: RunCountSample[]; totals: RunTotals }> {
  const rows = await db.query<TotalsRow>(sql`
    (SELECT at, created, succeeded, failed, cancelled, expired, system_failed FROM run_count_samples
     WHERE environment_id = ${environmentId} AND at <= ${timestamp(since)} ORDER BY at DESC LIMIT 1)
    UNION ALL
    (SELECT at, created, succeeded, failed, cancelled, expired, system_failed FROM run_count_samples
     WHERE environment_id = ${environmentId} AND at > ${timestamp(since)} ORDER BY at)
    UNION ALL
    SELECT NULL, coalesce(sum(count), 0)::bigint,
      coalesce(sum(count) FILTER (WHERE status = 'succeeded'), 0)::bigint,
      coalesce(sum(count) FILTER (WHERE status = 'failed'), 0)::bigint,
      coalesce(sum(count) FILTER (WHERE status = 'cancelled'), 0)::bigint,
      coalesce(sum(count) FILTER (WHERE status = 'expired'), 0)::bigint,
      coalesce(sum(count) FILTER (WHERE status = 'system_failed'), 0)::bigint
    FROM run_counts WHERE environment_id = ${environmentId} AND shard >= 0`);
  const totals = rows.find(({ at }) => at === null);
  if (totals === undefined) throw new Error("A sum without a row.");
  const samples = rows.flatMap((row) => (row.at === null ? [] : [{ at: row.at, ...toTotals(row) }]));
  return { samples: samples.toSorted((a, b) => a.at - b.at), totals: toTotals(totals) };
}

/** Times are milliseconds. */
export type QueueLoad = {
  queue: string;
  queued: number;
  delayed: number;
  running: number;
  waiting: number;
  oldestQueuedAt: number | null;
  concurrencyLimit: number | null;
  concurrencyKeyLimit: number | null;
};

export type QueuedRun = {
  runId: Uuid<"run">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  status: LiveRunStatus;
  queue: string;
  queuedAt: number;
  createdAt: number;
};

export type LiveActivity = { liveRuns: number; queues: QueueLoad[]; longestQueued: QueuedRun[] };

/**
 * An environment's queues, and the runs that are queued for longest. Both are of the oldest `maximum` live runs, read
 * once by their key: there is no index by queue, because every start and end would pay for it.
 */
export async function readLiveActivity(
  db: Queryable,
  environmentId: Uuid<"env">,
  { maximum, queues, runs }: { maximum: number; queues: number; runs: number },
): Promise<LiveActivity> {
  const [row] = await db.query<{ liveRuns: number; queues: string; longestQueued: string }>(sql`
    WITH live AS MATERIALIZED (
      SELECT e.run_id, e.queue, e.status, e.updated_at, CASE
          WHEN e.status = 'queued' AND e.available_at IS NULL THEN 'queued'
          WHEN e.status IN ('queued', 'retry_delayed') THEN 'delayed'
          WHEN e.status = 'waiting' THEN 'waiting' ELSE 'running' END AS kind
      FROM executions e WHERE e.environment_id = ${environmentId} ORDER BY e.run_id LIMIT ${maximum}
    ), counted AS (
      SELECT queue, count(*) FILTER (WHERE kind = 'queued') AS queued, count(*) FILTER (WHERE kind = 'delayed') AS delayed,
        count(*) FILTER (WHERE kind = 'running') AS running, count(*) FILTER (WHERE kind = 'waiting') AS waiting,
        min(updated_at) FILTER (WHERE kind = 'queued') AS oldest
      FROM live GROUP BY queue
    ), loads AS (
      SELECT * FROM counted
      UNION ALL
      SELECT q.name, 0, 0, 0, 0, NULL FROM queues q
      WHERE q.environment_id = ${environmentId} AND q.concurrency_limit IS NOT NULL
        AND q.name NOT IN (SELECT queue FROM counted)
      ORDER BY queued DESC, running DESC, queue LIMIT ${queues}
    ), shown AS (
      SELECT l.*, q.concurrency_limit, q.concurrency_key_limit FROM loads l
      LEFT JOIN queues q ON q.environment_id = ${environmentId} AND q.name = l.queue
    ), longest AS (
      SELECT l.run_id, l.status, l.queue, l.updated_at, r.entrypoint_kind, r.entrypoint, r.created_at
      FROM (SELECT * FROM live WHERE kind = 'queued' ORDER BY updated_at, run_id LIMIT ${runs}) l
      JOIN runs r ON r.environment_id = ${environmentId} AND r.id = l.run_id
    )
    SELECT (SELECT count(*) FROM live) AS live_runs,
      (SELECT coalesce(json_agg(json_build_object('queue', queue, 'queued', queued, 'delayed', delayed, 'running', running,
          'waiting', waiting, 'oldestQueuedAt', floor(extract(epoch FROM oldest) * 1000),
          'concurrencyLimit', concurrency_limit, 'concurrencyKeyLimit', concurrency_key_limit)
        ORDER BY queued DESC, running DESC, queue), '[]') FROM shown) AS queues,
      (SELECT coalesce(json_agg(json_build_object('runId', run_id, 'entrypointKind', entrypoint_kind, 'entrypoint', entrypoint,
          'status', status, 'queue', queue, 'queuedAt', floor(extract(epoch FROM updated_at) * 1000),
          'createdAt', floor(extract(epoch FROM created_at) * 1000))
        ORDER BY updated_at, run_id), '[]') FROM longest) AS longest_queued`);
  if (row === undefined) throw new Error("A sum without a row.");
  return {
    liveRuns: row.liveRuns,
    queues: JSON.parse(row.queues) as QueueLoad[],
    longestQueued: JSON.parse(row.longestQueued) as QueuedRun[],
  };
}

export type WorkerLoad = { online: number; draining: number; lost: number; slots: number; taken: number };

/** Of a group, from rows and not from what workers said: a run that was leased a moment ago counts. */
export async function readWorkerLoad(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  now: number,
): Promise<WorkerLoad> {
  const [row] = await db.query<WorkerLoad>(sql`
    SELECT count(*) FILTER (WHERE k.status = 'active' AND k.heard) AS online,
      count(*) FILTER (WHERE k.status = 'draining' AND k.heard) AS draining,
      count(*) FILTER (WHERE k.status <> 'drained' AND NOT k.heard) AS lost,
      coalesce(sum(k.capacity_executions) FILTER (WHERE k.status = 'active' AND k.heard), 0)::bigint AS slots,
      coalesce(sum((
        SELECT count(*) FROM executions e WHERE e.worker_id = k.id AND e.status IN ('running', 'cancel_requested')
      )) FILTER (WHERE k.status = 'active' AND k.heard), 0)::bigint AS taken
    FROM (
      SELECT w.id, w.status, w.capacity_executions,
        w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)} AS heard
      FROM workers w WHERE w.worker_group_id = ${workerGroupId}
    ) k`);
  if (row === undefined) throw new Error("A sum without a row.");
  return row;
}

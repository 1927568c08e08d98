import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { bucketBounds, decodeHistogram } from "../histogram.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type {
  EndedRun,
  OutcomeCounts,
  RollupKey,
  RollupMinutes,
  RolledKind,
  RunGroup,
  RunRollup,
  Rolled,
} from "./run-rollup.ts";

export const ROLLUP_LOOP = "count-ended-runs";

const BOUNDS = bucketBounds();

export type RollupProgress = {
  /** The last number that was given to the end of a run. */
  lastNumber: number;
  countedNumber: number;
  filled: boolean;
  hasUncounted: boolean;
  /** A run could not be counted, and the count has not passed it yet. */
  hasFailedAhead: boolean;
};

export async function readProgress(db: Queryable): Promise<RollupProgress> {
  const [row] = await db.query<RollupProgress>(sql`
    SELECT CASE WHEN n.is_called THEN n.last_value ELSE 0 END AS last_number, p.counted_number, p.filled,
      EXISTS (SELECT FROM uncounted_runs) AS has_uncounted,
      EXISTS (
        SELECT FROM loop_failures f
        WHERE f.loop = ${ROLLUP_LOOP} AND NOT EXISTS (
          SELECT FROM uncounted_runs u WHERE u.environment_id = f.environment_id AND u.run_id::text = f.item_id)
      ) AS has_failed_ahead
    FROM run_rollup_progress p, run_end_numbers n`);
  if (row === undefined) throw new Error("There is no row of the progress of counting.");
  return row;
}

/** The last number that was given to the end of a run, which may not be committed yet. */
export async function findLastNumber(db: Queryable): Promise<number> {
  const [row] = await db.query<{ lastNumber: number }>(
    sql`SELECT CASE WHEN n.is_called THEN n.last_value ELSE 0 END AS last_number FROM run_end_numbers n`,
  );
  return row?.lastNumber ?? 0;
}

/** An id that is higher than those of all transactions that have one already. */
export async function takeTransactionId(tx: Tx): Promise<string> {
  const [row] = await tx.query<{ id: string }>(sql`SELECT pg_current_xact_id()::text AS id`);
  if (row === undefined) throw new Error("PostgreSQL did not tell the id of a transaction.");
  return row.id;
}

/** Whether all transactions with lower ids are over. */
export async function areOlderOver(db: Queryable, transactionId: string): Promise<boolean> {
  const [row] = await db.query<{ over: boolean }>(sql`
    SELECT pg_snapshot_xmin(pg_current_snapshot()) >= ${transactionId}::xid8 AS over`);
  return row?.over === true;
}

export type LockedProgress = {
  countedNumber: number;
  filledEnvironmentId: Uuid<"env">;
  filledRunId: Uuid<"run">;
  filled: boolean;
};

/** One server at a time counts. Null: another one does. */
export async function lockProgress(tx: Tx): Promise<LockedProgress | null> {
  const [row] = await tx.query<LockedProgress>(sql`
    SELECT counted_number, filled_environment_id, filled_run_id, filled
    FROM run_rollup_progress FOR NO KEY UPDATE SKIP LOCKED`);
  return row ?? null;
}

/** A run that is counted, and whether it failed to be. */
export type TakenRun = EndedRun & { endNumber: number | null; isSetAside: boolean };

const TAKEN = rawSql(`
  x.environment_id, x.run_id, r.entrypoint_kind, r.entrypoint, x.status, greatest(r.created_at, r.start_at) AS due_at,
  x.started_at, x.finished_at, x.end_number`);

const setAside = (environmentId: Sql, runId: Sql, now: number): Sql =>
  sql`NOT ${isNotSetAside(ROLLUP_LOOP, environmentId, runId, now)} AS is_set_aside`;

/** Results with numbers in a range, in the order of the numbers. */
export const listEnded = (
  tx: Tx,
  { after, upTo, limit, now }: { after: number; upTo: number; limit: number; now: number },
): Promise<TakenRun[]> =>
  tx.query<TakenRun>(sql`
    SELECT ${TAKEN}, ${setAside(sql`x.environment_id`, sql`x.run_id`, now)}
    FROM (
      SELECT * FROM run_results WHERE end_number > ${after} AND end_number <= ${upTo}
      ORDER BY end_number LIMIT ${limit}
    ) x
    JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
    ORDER BY x.end_number`);

/** The same results, as many as count alike in a row. */
export const groupEnded = (
  tx: Tx,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
): Promise<(RunGroup & { lastNumber: number })[]> =>
  tx.query<RunGroup & { lastNumber: number }>(sql`
    SELECT x.environment_id, r.entrypoint_kind, r.entrypoint, x.status,
      date_bin('1 minute', x.finished_at, 'epoch'::timestamptz) AS minute,
      width_bucket(
        (extract(epoch FROM x.started_at - greatest(r.created_at, r.start_at)) * 1000)::float8, ${BOUNDS}::float8[]
      ) AS queue_bucket,
      width_bucket((extract(epoch FROM x.finished_at - x.started_at) * 1000)::float8, ${BOUNDS}::float8[]) AS duration_bucket,
      count(*)::integer AS runs, max(x.end_number) AS last_number
    FROM (
      SELECT * FROM run_results WHERE end_number > ${after} AND end_number <= ${upTo}
      ORDER BY end_number LIMIT ${limit}
    ) x
    JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
    GROUP BY 1, 2, 3, 4, 5, 6, 7`);

/** Results in the order of their keys; those with a number are counted by it. */
export const listOldEnded = (
  tx: Tx,
  { environmentId, runId, limit, now }: { environmentId: string; runId: string; limit: number; now: number },
): Promise<TakenRun[]> =>
  tx.query<TakenRun>(sql`
    SELECT ${TAKEN}, ${setAside(sql`x.environment_id`, sql`x.run_id`, now)}
    FROM (
      SELECT * FROM run_results WHERE (environment_id, run_id) > (${environmentId}::uuid, ${runId}::uuid)
      ORDER BY environment_id, run_id LIMIT ${limit}
    ) x
    JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
    ORDER BY x.environment_id, x.run_id`);

/** Those that could not be counted and are to be tried again. */
export const listUncounted = (tx: Tx, now: number, limit: number): Promise<TakenRun[]> =>
  tx.query<TakenRun>(sql`
    SELECT ${TAKEN}, false AS is_set_aside
    FROM uncounted_runs u
    JOIN run_results x ON x.environment_id = u.environment_id AND x.run_id = u.run_id
    JOIN runs r ON r.environment_id = u.environment_id AND r.id = u.run_id
    WHERE ${isNotSetAside(ROLLUP_LOOP, sql`u.environment_id`, sql`u.run_id`, now)}
    ORDER BY u.environment_id, u.run_id LIMIT ${limit}`);

type RollupRow = RollupKey & OutcomeCounts & { queueTimes: Buffer; durations: Buffer };

const ROLLUP = rawSql(`
  u.environment_id, u.minutes, u.entrypoint_kind, u.entrypoint, u.at, u.succeeded, u.failed, u.cancelled, u.expired,
  u.system_failed, u.queue_times, u.durations`);

const toRollup = ({
  succeeded,
  failed,
  cancelled,
  expired,
  systemFailed,
  queueTimes,
  durations,
  ...key
}: RollupRow): RunRollup => ({
  ...key,
  counts: { succeeded, failed, cancelled, expired, systemFailed },
  queueTimes: decodeHistogram(queueTimes),
  durations: decodeHistogram(durations),
});

/** Rows by their keys. They change only under the lock of the progress. */
export async function listRollupsByKey(tx: Tx, keys: readonly RollupKey[]): Promise<RunRollup[]> {
  const rows = await tx.query<RollupRow>(sql`
    SELECT ${ROLLUP} FROM unnest(
      ${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.minutes)}::smallint[],
      ${keys.map((key) => key.entrypointKind)}::text[], ${keys.map((key) => key.entrypoint)}::text[],
      ${keys.map((key) => key.at)}::float8[]
    ) AS k (environment_id, minutes, entrypoint_kind, entrypoint, at)
    JOIN run_rollups u ON u.environment_id = k.environment_id AND u.minutes = k.minutes
      AND u.entrypoint_kind = k.entrypoint_kind AND u.entrypoint = k.entrypoint AND u.at = to_timestamp(k.at / 1000)`);
  return rows.map(toRollup);
}

/** An entrypoint, or all together, since a time; the oldest first. */
export async function listRollups(
  db: Queryable,
  environmentId: Uuid<"env">,
  {
    kind,
    entrypoint,
    minutes,
    since,
  }: { kind: RolledKind; entrypoint: string; minutes: RollupMinutes; since: number },
): Promise<RunRollup[]> {
  const rows = await db.query<RollupRow>(sql`
    SELECT ${ROLLUP} FROM run_rollups u
    WHERE u.environment_id = ${environmentId} AND u.minutes = ${minutes} AND u.entrypoint_kind = ${kind}
      AND u.entrypoint = ${entrypoint} AND u.at >= ${timestamp(since)}
    ORDER BY u.at`);
  return rows.map(toRollup);
}

export type EntrypointRolled = Rolled & { entrypoint: string };

/** All entrypoints of a kind, each with its sums since a time. PostgreSQL joins the histograms, which adds them up. */
export async function sumRollups(
  db: Queryable,
  environmentId: Uuid<"env">,
  { kind, minutes, since }: { kind: RolledKind; minutes: RollupMinutes; since: number },
): Promise<EntrypointRolled[]> {
  const rows = await db.query<
    OutcomeCounts & { entrypoint: string; queueTimes: Buffer; durations: Buffer }
  >(sql`
    SELECT u.entrypoint, sum(u.succeeded)::bigint AS succeeded, sum(u.failed)::bigint AS failed,
      sum(u.cancelled)::bigint AS cancelled, sum(u.expired)::bigint AS expired, sum(u.system_failed)::bigint AS system_failed,
      string_agg(u.queue_times, ''::bytea) AS queue_times, string_agg(u.durations, ''::bytea) AS durations
    FROM run_rollups u
    WHERE u.environment_id = ${environmentId} AND u.minutes = ${minutes} AND u.entrypoint_kind = ${kind}
      AND u.at >= ${timestamp(since)}
    GROUP BY u.entrypoint`);
  return rows.map(({ entrypoint, queueTimes, durations, ...counts }) => ({
    ...{ entrypoint, counts },
    queueTimes: decodeHistogram(queueTimes),
    durations: decodeHistogram(durations),
  }));
}

export type LastRun = { entrypoint: string; runId: Uuid<"run">; status: string; createdAt: number };

/** The newest run of each entrypoint, found by the index of runs by entrypoint. */
export const listLastRuns = (
  db: Queryable,
  environmentId: Uuid<"env">,
  kind: "task" | "actor",
  entrypoints: readonly string[],
): Promise<LastRun[]> =>
  db.query<LastRun>(sql`
    SELECT k.entrypoint, r.id AS run_id, coalesce(x.status, e.status, 'queued') AS status, r.created_at
    FROM unnest(${entrypoints}::text[]) AS k (entrypoint)
    CROSS JOIN LATERAL (
      SELECT id, created_at FROM runs
      WHERE environment_id = ${environmentId} AND entrypoint = k.entrypoint AND entrypoint_kind = ${kind}
      ORDER BY id DESC LIMIT 1
    ) r
    LEFT JOIN run_results x ON x.environment_id = ${environmentId} AND x.run_id = r.id
    LEFT JOIN executions e ON e.environment_id = ${environmentId} AND e.run_id = r.id`);

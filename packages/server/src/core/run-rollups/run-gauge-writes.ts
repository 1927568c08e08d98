import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";
import { beginningOf, ROLLUP_MINUTES, type RollupMinutes } from "./run-rollup.ts";

/** Live runs of an environment in which the oldest queued one is looked for, and pending tokens that are counted. */
const MAX_LIVE = 2_000;
const MAX_TOKENS = 10_000;

/**
 * One server takes each sample: the row's lock decides. A clock that was set back begins anew.
 *
 * @returns whether this transaction is to sample.
 */
export async function claimSample(tx: Tx, now: number, leastMs: number): Promise<boolean> {
  const [row] = await tx.query<{ claimed: boolean }>(sql`
    UPDATE run_gauge_progress SET sampled_at = ${timestamp(now)}
    WHERE sampled_at <= ${timestamp(now - leastMs)} OR sampled_at > ${timestamp(now + leastMs)}
    RETURNING true AS claimed`);
  return row?.claimed === true;
}

/**
 * Samples the environments in which something is queued, running or waiting. What each transaction keeps (the counts of runs)
 * is added up; the rest is found by indexes, and bounded for each environment. A sample that is
 * older than the newest one of a row is left out.
 */
export async function sampleGauges(tx: Tx, now: number): Promise<void> {
  const rows = ROLLUP_MINUTES.map((minutes) => ({ minutes, at: beginningOf(now, minutes) }));
  await tx.query(sql`
    WITH live AS (
      SELECT c.environment_id,
        greatest(0, coalesce(sum(c.count) FILTER (WHERE c.status IN ('queued', 'retry_delayed')), 0))::bigint AS queued,
        greatest(0, coalesce(sum(c.count) FILTER (WHERE c.status = 'waiting'), 0))::bigint AS waiting,
        greatest(0, coalesce(sum(c.count) FILTER (WHERE c.status IN ('running', 'cancel_requested')), 0))::bigint AS running
      FROM run_counts c
      WHERE c.shard >= 0 AND c.status IN ('queued', 'retry_delayed', 'running', 'cancel_requested', 'waiting')
      GROUP BY c.environment_id
    ), slots AS (
      SELECT w.worker_group_id, sum(w.capacity_executions)::bigint AS slots, sum((
          SELECT count(*) FROM executions e WHERE e.worker_id = w.id AND e.status IN ('running', 'cancel_requested')
        ))::bigint AS used
      FROM workers w WHERE w.status = 'active' AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}
      GROUP BY w.worker_group_id
    ), sampled AS (
      SELECT v.id AS environment_id, coalesce(l.queued, 0) AS queued, coalesce(l.waiting, 0) AS waiting,
        coalesce(l.running, 0) AS running, t.tokens, coalesce(s.slots, 0) AS slots, coalesce(s.used, 0) AS used,
        coalesce(greatest(0, extract(epoch FROM ${timestamp(now)} - o.oldest) * 1000), 0)::bigint AS oldest_ms
      FROM environments v
      LEFT JOIN live l ON l.environment_id = v.id
      LEFT JOIN slots s ON s.worker_group_id = v.worker_group_id
      CROSS JOIN LATERAL (
        SELECT count(*) AS tokens FROM (
          SELECT FROM tokens k WHERE k.environment_id = v.id AND k.status = 'pending' LIMIT ${MAX_TOKENS}
        ) p
      ) t
      LEFT JOIN LATERAL (
        SELECT min(q.updated_at) FILTER (WHERE q.status = 'queued' AND q.available_at IS NULL) AS oldest FROM (
          SELECT e.updated_at, e.status, e.available_at FROM executions e
          WHERE e.environment_id = v.id ORDER BY e.run_id LIMIT ${MAX_LIVE}
        ) q
      ) o ON l.queued > 0
    )
    INSERT INTO run_gauges AS g (environment_id, minutes, at, sampled_at, queued_max, queued_last, oldest_queued_ms_max,
      oldest_queued_ms_last, waiting_max, waiting_last, pending_tokens_max, pending_tokens_last, slots_max, slots_last,
      slots_used_max, slots_used_last)
    SELECT s.environment_id, r.minutes, to_timestamp(r.at / 1000), ${timestamp(now)}, s.queued, s.queued, s.oldest_ms, s.oldest_ms,
      s.waiting, s.waiting, s.tokens, s.tokens, s.slots, s.slots, s.used, s.used
    FROM sampled s
    CROSS JOIN unnest(${rows.map(({ minutes }) => minutes)}::smallint[], ${rows.map(({ at }) => at)}::float8[]) AS r (minutes, at)
    WHERE s.queued + s.running + s.waiting + s.tokens > 0
    ORDER BY s.environment_id, r.minutes
    ON CONFLICT (environment_id, minutes, at) DO UPDATE SET sampled_at = excluded.sampled_at,
      queued_max = greatest(g.queued_max, excluded.queued_max), queued_last = excluded.queued_last,
      oldest_queued_ms_max = greatest(g.oldest_queued_ms_max, excluded.oldest_queued_ms_max),
      oldest_queued_ms_last = excluded.oldest_queued_ms_last,
      waiting_max = greatest(g.waiting_max, excluded.waiting_max), waiting_last = excluded.waiting_last,
      pending_tokens_max = greatest(g.pending_tokens_max, excluded.pending_tokens_max),
      pending_tokens_last = excluded.pending_tokens_last,
      slots_max = greatest(g.slots_max, excluded.slots_max), slots_last = excluded.slots_last,
      slots_used_max = greatest(g.slots_used_max, excluded.slots_used_max), slots_used_last = excluded.slots_used_last
      WHERE g.sampled_at <= excluded.sampled_at`);
}

/** Drops samples of an environment that are older. @returns how many rows. */
export async function deleteGauges(
  tx: Tx,
  environmentId: Uuid<"env">,
  { minutes, before, limit }: { minutes: RollupMinutes; before: number; limit: number },
): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    WITH old AS (
      SELECT at FROM run_gauges
      WHERE environment_id = ${environmentId} AND minutes = ${minutes} AND at < ${timestamp(before)}
      ORDER BY at LIMIT ${limit}
    ), gone AS (
      DELETE FROM run_gauges g USING old o
      WHERE g.environment_id = ${environmentId} AND g.minutes = ${minutes} AND g.at = o.at RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`);
  return row?.dropped ?? 0;
}

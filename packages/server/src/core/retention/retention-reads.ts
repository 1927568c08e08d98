import type { IdPrefix, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { RETENTION_LOCK } from "../advisory-locks.ts";

/**
 * One server at a time drops, and none while a backup is written; what was not done is for the next round. Ends with the
 * transaction.
 */
export async function takeRetentionLock(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock(${RETENTION_LOCK}) AS taken`,
  );
  return row?.taken === true;
}

export async function listEnvironmentIds(db: Queryable): Promise<Uuid<"env">[]> {
  const rows = await db.query<{ id: Uuid<"env"> }>(sql`SELECT id FROM environments ORDER BY id`);
  return rows.map(({ id }) => id);
}

/** Where a sweep of an environment is: keys after `after` and before `horizon`, which were made long enough ago. */
export type Sweep = {
  environmentId: Uuid<"env">;
  after: string;
  horizon: string;
  endedBefore: number;
  limit: number;
};

/** `isHeld`: it stays for as long as something else does, for months maybe. */
export type Candidate<Prefix extends IdPrefix> = { id: Uuid<Prefix>; isDue: boolean; isHeld?: boolean };

/**
 * Ended runs. Held are those of a session that is there, and those that a living caller may still ask for. Not due either are
 * those whose end somebody is still to be told of, and those that are still to be counted by minute and hour.
 */
export const listEndedRuns = (tx: Tx, sweep: Sweep): Promise<(Candidate<"run"> & { isHeld: boolean })[]> =>
  tx.query<Candidate<"run"> & { isHeld: boolean }>(sql`
    WITH page AS MATERIALIZED (
      SELECT p.run_id, p.finished_at, p.end_number,
        EXISTS (SELECT 1 FROM sessions s WHERE s.environment_id = ${sweep.environmentId} AND s.id = r.session_id)
        OR EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = ${sweep.environmentId} AND e.run_id = r.parent_run_id)
        AS is_held
      FROM (
        SELECT run_id, finished_at, end_number FROM run_results
        WHERE environment_id = ${sweep.environmentId} AND run_id > ${sweep.after} AND run_id < ${sweep.horizon}
        ORDER BY run_id LIMIT ${sweep.limit}
      ) p
      JOIN runs r ON r.environment_id = ${sweep.environmentId} AND r.id = p.run_id
    )
    SELECT p.run_id AS id, p.finished_at < ${timestamp(sweep.endedBefore)} AND NOT p.is_held
      AND NOT EXISTS (SELECT 1 FROM awaited_endings a WHERE a.environment_id = ${sweep.environmentId} AND a.run_id = p.run_id)
      AND (p.end_number <= c.counted_number OR p.end_number IS NULL AND (c.filled
        OR (${sweep.environmentId}::uuid, p.run_id) <= (c.filled_environment_id, c.filled_run_id)))
      AND NOT EXISTS (SELECT 1 FROM uncounted_runs u WHERE u.environment_id = ${sweep.environmentId} AND u.run_id = p.run_id)
      AS is_due, p.is_held
    FROM page p CROSS JOIN run_rollup_progress c
    ORDER BY p.run_id`);

/**
 * Runs that have rows of a table, a page of rows at a time.
 *
 * @param without whether a run that has no result is due: it lives, or it was dropped just then.
 */
const listRunsWith =
  (rows: Sql, without: boolean) =>
  (tx: Tx, sweep: Sweep): Promise<Candidate<"run">[]> =>
    tx.query<Candidate<"run">>(sql`
    SELECT p.run_id AS id,
      coalesce(x.finished_at < ${timestamp(sweep.endedBefore)}, ${without}::boolean) AS is_due
    FROM (
      SELECT DISTINCT run_id FROM (
        SELECT run_id FROM ${rows}
        WHERE environment_id = ${sweep.environmentId} AND run_id > ${sweep.after} AND run_id < ${sweep.horizon}
        ORDER BY run_id LIMIT ${sweep.limit}
      ) rows
    ) p
    LEFT JOIN run_results x ON x.environment_id = ${sweep.environmentId} AND x.run_id = p.run_id
    ORDER BY p.run_id`);

export const listRunsWithEvents = listRunsWith(sql`run_events`, false);
export const listRunsWithLogs = listRunsWith(sql`run_logs`, false);
/** All of those have ended, and one that was dropped just then leaves its pack to this. */
export const listRunsWithLogPacks = listRunsWith(sql`run_log_packs`, true);

/** Tokens that have ended. Not due are those of a living run, and those that one has not taken note of. */
export const listEndedTokens = (tx: Tx, sweep: Sweep): Promise<Candidate<"tok">[]> =>
  tx.query<Candidate<"tok">>(sql`
    WITH page AS (
      SELECT id, run_id, status, updated_at FROM tokens
      WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
      ORDER BY id LIMIT ${sweep.limit}
    ), held AS (
      SELECT w.token_id FROM executions e
      JOIN run_waits w ON w.environment_id = e.environment_id AND w.run_id = e.run_id
      WHERE e.environment_id = ${sweep.environmentId} AND w.token_id IS NOT NULL AND NOT w.accepted
        AND EXISTS (SELECT 1 FROM page)
    )
    SELECT p.id, p.status <> 'pending' AND p.updated_at < ${timestamp(sweep.endedBefore)}
      AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = ${sweep.environmentId} AND e.run_id = p.run_id)
      AND NOT EXISTS (SELECT 1 FROM held h WHERE h.token_id = p.id) AS is_due
    FROM page p ORDER BY p.id`);

/** Bulk actions that have ended. */
export const listEndedBulkActions = (tx: Tx, sweep: Sweep): Promise<Candidate<"bulk">[]> =>
  tx.query<Candidate<"bulk">>(sql`
    SELECT id, coalesce(ended_at < ${timestamp(sweep.endedBefore)}, false) AS is_due FROM bulk_actions
    WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
    ORDER BY id LIMIT ${sweep.limit}`);

/** Ended processes that have output. */
export const listProcessesWithOutput = (tx: Tx, sweep: Sweep): Promise<Candidate<"exec" | "pty">[]> =>
  tx.query<Candidate<"exec" | "pty">>(sql`
    SELECT p.process_id AS id,
      x.id IS NULL OR coalesce(x.finished_at < ${timestamp(sweep.endedBefore)}, false) AS is_due
    FROM (
      SELECT DISTINCT process_id FROM (
        SELECT process_id FROM process_outputs
        WHERE environment_id = ${sweep.environmentId} AND process_id > ${sweep.after} AND process_id < ${sweep.horizon}
        ORDER BY process_id, stream, position LIMIT ${sweep.limit}
      ) rows
    ) p
    LEFT JOIN processes x ON x.environment_id = ${sweep.environmentId} AND x.id = p.process_id
    ORDER BY p.process_id`);

export async function listScheduleIds(
  tx: Tx,
  sweep: Omit<Sweep, "endedBefore" | "horizon">,
): Promise<Uuid<"sched">[]> {
  const rows = await tx.query<{ id: Uuid<"sched"> }>(sql`
    SELECT id FROM schedules WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after}
    ORDER BY id LIMIT ${sweep.limit}`);
  return rows.map(({ id }) => id);
}

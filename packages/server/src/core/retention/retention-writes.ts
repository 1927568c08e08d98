import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

type Count = { dropped: number };

const countOf = ([row]: Count[]): number => row?.dropped ?? 0;

/** Drops ended runs and all of them that is in rows, and takes them off the counts. */
export async function deleteRuns(tx: Tx, environmentId: string, runIds: readonly string[]): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH ended AS (
      DELETE FROM run_results WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
      RETURNING status
    ), asked AS (
      DELETE FROM runs WHERE environment_id = ${environmentId} AND id = ANY(${runIds}::uuid[])
    ), events AS (
      DELETE FROM run_events WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), journal AS (
      DELETE FROM run_journal WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), waits AS (
      DELETE FROM run_waits WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), pins AS (
      DELETE FROM secret_pins WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), counted AS (
      -- In a shard of its own: the others say what has happened, from which samples are taken.
      INSERT INTO run_counts (environment_id, status, shard, count)
      SELECT ${environmentId}::uuid, status, -1, -count(*) FROM ended GROUP BY status ORDER BY status
      ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
    )
    SELECT count(*) AS dropped FROM ended`),
  );
}

export async function deleteRunEvents(
  tx: Tx,
  environmentId: string,
  runIds: readonly string[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM run_events WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[]) RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/**
 * Drops chunks and packs, and takes the chunks off what the environment stores; a pack counts as its blob. A blob that no
 * pack needs any more is collected after the grace. @returns how many chunks.
 */
export async function deleteRunLogs(
  tx: Tx,
  environmentId: string,
  runIds: readonly string[],
  now: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM run_logs WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
      RETURNING length(data) AS bytes
    ), freed AS (
      UPDATE stored_bytes s SET bytes = greatest(0, s.bytes - g.bytes)
      FROM (SELECT sum(bytes)::bigint AS bytes FROM gone) g
      WHERE s.environment_id = ${environmentId} AND g.bytes > 0
    ), packs AS (
      DELETE FROM run_log_packs WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
      RETURNING digest, last_sequence - first_sequence + 1 AS chunks
    ), locked AS (
      SELECT b.digest FROM blobs b
      WHERE b.environment_id = ${environmentId} AND b.digest IN (SELECT digest FROM packs)
      ORDER BY b.digest FOR NO KEY UPDATE OF b
    ), released AS (
      UPDATE blobs b SET candidate = true, touched_at = greatest(b.touched_at, to_timestamp(${now}::float8 / 1000))
      FROM locked l WHERE b.environment_id = ${environmentId} AND b.digest = l.digest
    )
    SELECT (SELECT count(*) FROM gone) + (SELECT coalesce(sum(chunks), 0)::bigint FROM packs) AS dropped`),
  );
}

export async function deleteTokens(
  tx: Tx,
  environmentId: string,
  tokenIds: readonly string[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM tokens WHERE environment_id = ${environmentId} AND id = ANY(${tokenIds}::uuid[]) AND status <> 'pending'
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Drops the output of ended processes. What is asked for afterwards begins at its end. */
export async function deleteOutputs(
  tx: Tx,
  environmentId: string,
  processIds: readonly string[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM process_outputs WHERE environment_id = ${environmentId} AND process_id = ANY(${processIds}::uuid[])
      RETURNING 1
    ), moved AS (
      UPDATE processes SET stdout_first = stdout_bytes, stderr_first = stderr_bytes
      WHERE environment_id = ${environmentId} AND id = ANY(${processIds}::uuid[])
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Drops slots of schedules from long ago, of each the oldest first. The schedule itself knows its newest. */
export async function deleteOccurrences(
  tx: Tx,
  environmentId: string,
  scheduleIds: readonly string[],
  before: number,
  limit: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH due AS (
      SELECT o.schedule_id, o.scheduled_at
      FROM unnest(${scheduleIds}::uuid[]) AS s (id)
      CROSS JOIN LATERAL (
        SELECT schedule_id, scheduled_at FROM schedule_occurrences
        WHERE environment_id = ${environmentId} AND schedule_id = s.id
          AND scheduled_at < to_timestamp(${before}::float8 / 1000)
        ORDER BY scheduled_at LIMIT ${limit}
      ) o
      LIMIT ${limit}
    ), gone AS (
      DELETE FROM schedule_occurrences o USING due d
      WHERE o.environment_id = ${environmentId} AND o.schedule_id = d.schedule_id AND o.scheduled_at = d.scheduled_at
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/**
 * Drops records of sessions that have ended, the oldest first, a piece of each stream at a time; a session whose streams
 * are all empty is marked. Sessions are locked before streams; those in other hands wait for the next round.
 *
 * @returns also how many sessions were looked at: none means that all is done.
 */
export async function dropRecords(
  tx: Tx,
  closedBefore: number,
  sessions: number,
  pieceRecords: number,
): Promise<{ dropped: number; looked: number }> {
  const [row] = await tx.query<{ dropped: number; looked: number }>(sql`
    WITH due AS (
      SELECT environment_id, id FROM sessions s
      WHERE status <> 'open' AND NOT records_dropped AND closed_at < to_timestamp(${closedBefore}::float8 / 1000)
        AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = s.environment_id AND e.run_id = s.current_run_id)
      ORDER BY closed_at LIMIT ${sessions} FOR NO KEY UPDATE SKIP LOCKED
    ), pieces AS (
      SELECT t.environment_id, t.id, least(t.last_sequence, t.kept_after + ${pieceRecords}) AS up_to
      FROM due d JOIN streams t ON t.environment_id = d.environment_id AND t.session_id = d.id
      WHERE t.kept_after < t.last_sequence
      ORDER BY t.environment_id, t.id LIMIT ${sessions} FOR NO KEY UPDATE OF t
    ), gone AS (
      DELETE FROM stream_records r USING pieces p
      WHERE r.environment_id = p.environment_id AND r.stream_id = p.id AND r.sequence <= p.up_to
      RETURNING r.environment_id, length(r.data) AS bytes
    ), counted AS (
      -- Rows are taken in one order by all who add to them.
      SELECT s.environment_id, g.bytes FROM stored_bytes s
      JOIN (SELECT environment_id, sum(bytes)::bigint AS bytes FROM gone GROUP BY environment_id) g
        ON g.environment_id = s.environment_id
      ORDER BY s.environment_id FOR NO KEY UPDATE OF s
    ), freed AS (
      UPDATE stored_bytes s SET bytes = greatest(0, s.bytes - c.bytes)
      FROM counted c WHERE s.environment_id = c.environment_id
    ), moved AS (
      UPDATE streams t SET kept_after = p.up_to FROM pieces p WHERE t.environment_id = p.environment_id AND t.id = p.id
    ), emptied AS (
      UPDATE sessions s SET records_dropped = true FROM due d
      WHERE s.environment_id = d.environment_id AND s.id = d.id AND NOT EXISTS (
        SELECT 1 FROM streams t
        WHERE t.environment_id = d.environment_id AND t.session_id = d.id AND t.kept_after < t.last_sequence)
    )
    SELECT (SELECT count(*) FROM gone) AS dropped, (SELECT count(*) FROM due) AS looked`);
  return row ?? { dropped: 0, looked: 0 };
}

/** Drops ended sessions without records. Their runs are dropped as others are. */
export async function deleteSessions(tx: Tx, closedBefore: number, limit: number): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH due AS (
      SELECT environment_id, id FROM sessions s
      WHERE status <> 'open' AND records_dropped AND closed_at < to_timestamp(${closedBefore}::float8 / 1000)
        AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = s.environment_id AND e.run_id = s.current_run_id)
        AND NOT EXISTS (SELECT 1 FROM awaited_endings a WHERE a.environment_id = s.environment_id AND a.run_id = s.current_run_id)
      ORDER BY closed_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), streams AS (
      DELETE FROM streams t USING due d WHERE t.environment_id = d.environment_id AND t.session_id = d.id
    ), gone AS (
      DELETE FROM sessions s USING due d WHERE s.environment_id = d.environment_id AND s.id = d.id RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

type Count = { dropped: number };

const countOf = ([row]: Count[]): number => row?.dropped ?? 0;

/** Drops ended runs and all of them that is in rows, and takes them off the counts. */
export async function deleteRuns(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH ended AS (
      DELETE FROM run_results WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
      RETURNING status, error_group_id, run_id
    ), asked AS (
      DELETE FROM runs WHERE environment_id = ${environmentId} AND id = ANY(${runIds}::uuid[])
      RETURNING id, tags
    ), untagged AS (
      DELETE FROM run_tags t USING (SELECT id, unnest(tags) AS tag FROM asked) a
      WHERE t.environment_id = ${environmentId} AND t.tag = a.tag AND t.run_id = a.id
    ), events AS (
      DELETE FROM run_events WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), journal AS (
      DELETE FROM run_journal WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), grouped AS (
      DELETE FROM error_group_runs g USING ended e
      WHERE g.environment_id = ${environmentId} AND g.error_group_id = e.error_group_id AND g.run_id = e.run_id
    ), waits AS (
      DELETE FROM run_waits WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), continued AS (
      DELETE FROM run_continuations WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), pins AS (
      DELETE FROM secret_pins WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), used AS (
      DELETE FROM run_usage WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
      RETURNING session_id, model, calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_nanos
    ), summed AS (
      -- The sum of a session has what runs used that its runs had started, also when those are gone before it.
      INSERT INTO session_usage AS u (environment_id, session_id, model, calls, input_tokens, output_tokens, cached_input_tokens,
        reasoning_tokens, cost_nanos)
      SELECT s.environment_id, s.id, d.model, sum(d.calls)::bigint, sum(d.input_tokens)::bigint, sum(d.output_tokens)::bigint,
        sum(d.cached_input_tokens)::bigint, sum(d.reasoning_tokens)::bigint, sum(d.cost_nanos)::bigint
      FROM used d JOIN sessions s ON s.environment_id = ${environmentId} AND s.id = d.session_id
      GROUP BY s.environment_id, s.id, d.model ORDER BY s.id, d.model
      ON CONFLICT (environment_id, session_id, model) DO UPDATE SET calls = u.calls + excluded.calls,
        input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
        cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
        reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
        cost_nanos = coalesce(u.cost_nanos + excluded.cost_nanos, u.cost_nanos, excluded.cost_nanos)
    ), words AS (
      DELETE FROM run_search WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
    ), living AS (
      DELETE FROM run_search_live WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])
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
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
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
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
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
      UPDATE blobs b SET candidate = true, touched_at = greatest(b.touched_at, ${timestamp(now)})
      FROM locked l WHERE b.environment_id = ${environmentId} AND b.digest = l.digest
    )
    SELECT (SELECT count(*) FROM gone) + (SELECT coalesce(sum(chunks), 0)::bigint FROM packs) AS dropped`),
  );
}

export async function deleteTokens(
  tx: Tx,
  environmentId: Uuid<"env">,
  tokenIds: readonly Uuid<"tok">[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM tokens WHERE environment_id = ${environmentId} AND id = ANY(${tokenIds}::uuid[]) AND status <> 'pending'
      RETURNING id, tags
    ), untagged AS (
      DELETE FROM token_tags t USING (SELECT id, unnest(tags) AS tag FROM gone) g
      WHERE t.environment_id = ${environmentId} AND t.tag = g.tag AND t.token_id = g.id
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Drops the output of ended processes. What is asked for afterwards begins at its end. */
export async function deleteOutputs(
  tx: Tx,
  environmentId: Uuid<"env">,
  processIds: readonly Uuid<"exec" | "pty">[],
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
  environmentId: Uuid<"env">,
  scheduleIds: readonly Uuid<"sched">[],
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
          AND scheduled_at < ${timestamp(before)}
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

/** A session that has ended. */
export type EndedSession = { environmentId: Uuid<"env">; id: Uuid<"sess"> };

const keysOf = (sessions: readonly EndedSession[]): Sql => sql`
  SELECT environment_id, id
  FROM unnest(${sessions.map((one) => one.environmentId)}::uuid[], ${sessions.map((one) => one.id)}::uuid[]) AS k (environment_id, id)`;

/** Of a session `s`; its last run may still be ending. */
const endedBefore = (closedBefore: number): Sql => sql`
  s.status <> 'open' AND s.closed_at < ${timestamp(closedBefore)}
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = s.environment_id AND e.run_id = s.current_run_id)`;

/** Sessions that ended before, with records, the oldest first; those in other hands wait for the next round. */
export const lockSessionsWithRecords = (
  tx: Tx,
  closedBefore: number,
  now: number,
  limit: number,
): Promise<EndedSession[]> =>
  tx.query<EndedSession>(sql`
    SELECT s.environment_id, s.id FROM sessions s
    WHERE ${endedBefore(closedBefore)} AND NOT s.records_dropped
      AND ${isNotSetAside("drop-records", sql`s.environment_id`, sql`s.id`, now)}
    ORDER BY s.closed_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED`);

/**
 * Drops records of locked sessions, a piece of each stream at a time; a session whose streams are all empty is marked.
 * Sessions are locked before streams. @returns how many records.
 */
export async function dropRecords(
  tx: Tx,
  sessions: readonly EndedSession[],
  streams: number,
  pieceRecords: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH due AS (
      ${keysOf(sessions)}
    ), pieces AS (
      -- A pack goes as a whole.
      SELECT t.environment_id, t.id, t.last_sequence, least(t.last_sequence, greatest(t.kept_after + ${pieceRecords}, (
        SELECT k.last_sequence FROM record_packs k
        WHERE k.environment_id = t.environment_id AND k.stream_id = t.id AND k.first_sequence <= t.kept_after + ${pieceRecords}
        ORDER BY k.first_sequence DESC LIMIT 1))) AS up_to
      FROM due d JOIN streams t ON t.environment_id = d.environment_id AND t.session_id = d.id
      WHERE t.kept_after < t.last_sequence
      ORDER BY t.environment_id, t.id LIMIT ${streams} FOR NO KEY UPDATE OF t
    ), gone AS (
      DELETE FROM stream_records r USING pieces p
      WHERE r.environment_id = p.environment_id AND r.stream_id = p.id AND r.sequence <= p.up_to
      RETURNING r.environment_id, 1 AS records, length(r.data) AS bytes
    ), unpacked AS (
      DELETE FROM record_packs k USING pieces p
      WHERE k.environment_id = p.environment_id AND k.stream_id = p.id AND k.last_sequence <= p.up_to
      RETURNING k.environment_id, k.last_sequence - k.first_sequence + 1 AS records, k.counted_bytes AS bytes
    ), dropped AS (
      SELECT * FROM gone UNION ALL SELECT * FROM unpacked
    ), told AS (
      DELETE FROM messages m USING pieces p
      WHERE m.environment_id = p.environment_id AND m.stream_id = p.id AND p.up_to = p.last_sequence
    ), counted AS (
      -- Rows are taken in one order by all who add to them.
      SELECT s.environment_id, g.bytes FROM stored_bytes s
      JOIN (SELECT environment_id, sum(bytes)::bigint AS bytes FROM dropped GROUP BY environment_id) g
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
    SELECT coalesce(sum(records), 0)::bigint AS dropped FROM dropped`),
  );
}

/** Sessions that ended before, without records and without anything that still asks for them. */
export const lockEmptySessions = (
  tx: Tx,
  closedBefore: number,
  now: number,
  limit: number,
): Promise<EndedSession[]> =>
  tx.query<EndedSession>(sql`
    SELECT s.environment_id, s.id FROM sessions s
    WHERE ${endedBefore(closedBefore)} AND s.records_dropped
      AND NOT EXISTS (SELECT 1 FROM awaited_endings a WHERE a.environment_id = s.environment_id AND a.run_id = s.current_run_id)
      AND ${isNotSetAside("drop-sessions", sql`s.environment_id`, sql`s.id`, now)}
    ORDER BY s.closed_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`);

/**
 * Drops locked sessions with their files. Their runs are dropped as others are. A blob that no file and nothing else needs any more is
 * collected after the grace.
 */
export async function deleteSessions(
  tx: Tx,
  sessions: readonly EndedSession[],
  now: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH due AS (
      ${keysOf(sessions)}
    ), streams AS (
      DELETE FROM streams t USING due d WHERE t.environment_id = d.environment_id AND t.session_id = d.id
      RETURNING t.environment_id, t.id
    ), packs AS (
      -- Those that were made while the last records were dropped.
      DELETE FROM record_packs k USING streams t WHERE k.environment_id = t.environment_id AND k.stream_id = t.id
    ), files AS (
      DELETE FROM session_files f USING due d WHERE f.environment_id = d.environment_id AND f.session_id = d.id
      RETURNING f.environment_id, f.digest
    ), locked AS (
      SELECT b.environment_id, b.digest FROM blobs b
      WHERE (b.environment_id, b.digest) IN (SELECT environment_id, digest FROM files)
      ORDER BY b.environment_id, b.digest FOR NO KEY UPDATE OF b
    ), released AS (
      UPDATE blobs b SET candidate = true, touched_at = greatest(b.touched_at, ${timestamp(now)})
      FROM locked l WHERE b.environment_id = l.environment_id AND b.digest = l.digest
    ), gone AS (
      DELETE FROM sessions s USING due d WHERE s.environment_id = d.environment_id AND s.id = d.id
      RETURNING s.environment_id, s.id, s.tags
    ), untagged AS (
      DELETE FROM session_tags t USING (SELECT environment_id, id, unnest(tags) AS tag FROM gone) g
      WHERE t.environment_id = g.environment_id AND t.tag = g.tag AND t.session_id = g.id
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

import type { StreamDirection } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { keyOfStream, type Append, type Appended, type StreamGate, type StreamKey } from "./stream.ts";

export type NewStream = StreamKey & {
  id: string;
  direction: StreamDirection;
  gate: StreamGate;
  createdAt: number;
};

/** Waits for whoever is inserting a stream of the same name and leaves theirs as it is. */
export async function insertStreams(tx: Tx, streams: readonly NewStream[]): Promise<void> {
  await tx.query(sql`
    INSERT INTO streams (environment_id, id, session_id, name, direction, gate, created_at)
    SELECT environment_id, id, session_id, name, direction, gate, to_timestamp(created_at / 1000)
    FROM unnest(
      ${streams.map((stream) => stream.environmentId)}::uuid[], ${streams.map((stream) => stream.id)}::uuid[],
      ${streams.map((stream) => stream.sessionId)}::uuid[], ${streams.map((stream) => stream.name)}::text[],
      ${streams.map((stream) => stream.direction)}::text[], ${streams.map((stream) => stream.gate)}::text[],
      ${streams.map((stream) => stream.createdAt)}::float8[]
    ) AS n (environment_id, id, session_id, name, direction, gate, created_at)
    ORDER BY environment_id, session_id, name
    ON CONFLICT (environment_id, session_id, name) DO NOTHING`);
}

/** Appends for one stream, counted together: its row is advanced once, and each knows how far from there it begins. */
type Group = { append: Append; count: number };
type Placed = { append: Append; group: number; offset: number };

function placeAppends(appends: readonly Append[]): { groups: Group[]; placed: Placed[] } {
  const groups: Group[] = [];
  const indexes = new Map<string, number>();
  const placed = appends.map((append): Placed => {
    const key = `${append.direction} ${keyOfStream(append)}`;
    let group = indexes.get(key);
    if (group === undefined) {
      group = groups.push({ append, count: 0 }) - 1;
      indexes.set(key, group);
    }
    const entry = groups[group] as Group;
    const offset = entry.count;
    entry.count += append.records.length;
    return { append, group, offset };
  });
  return { groups, placed };
}

/**
 * Appends for many callers and streams in one statement. The streams' rows are locked in key order and advanced by the
 * number of records, so that records are numbered without gaps in the order of the commits. An append whose stream is
 * not there, has the other direction or whose gate is not open is left out: its result is null. `byLiveRun` says that a
 * live run of each session appends, which may go on when its session has ended.
 */
export async function insertRecords(
  db: Queryable,
  appends: readonly Append[],
  byLiveRun: boolean,
): Promise<(Appended | null)[]> {
  if (appends.length === 0) return [];
  const { groups, placed } = placeAppends(appends);
  const records = placed.flatMap(({ append, group, offset }) =>
    append.records.map((record, index) => ({ record, append, group, position: offset + index + 1 })),
  );
  const of = <T>(pick: (append: Append) => T): T[] => groups.map(({ append }) => pick(append));
  const each = <T>(pick: (entry: (typeof records)[number]) => T): T[] => records.map(pick);
  const rows = await db.query<{ n: number; streamId: string; before: number }>(sql`
    WITH wanted AS (
      SELECT * FROM unnest(
        ${groups.map((_, index) => index + 1)}::integer[], ${of((append) => append.environmentId)}::uuid[],
        ${of((append) => append.sessionId)}::uuid[], ${of((append) => append.name)}::text[],
        ${of((append) => append.direction)}::text[], ${groups.map(({ count }) => count)}::integer[]
      ) AS w (n, environment_id, session_id, name, direction, count)
    ), locked AS (
      -- The gate is read from the locked row: whoever closed it has committed before, or waits.
      SELECT w.n, w.count, t.environment_id, t.id
      FROM wanted w
      JOIN streams t ON t.environment_id = w.environment_id AND t.session_id = w.session_id AND t.name = w.name
        AND t.direction = w.direction AND (t.gate = 'open' OR ${byLiveRun})
      ORDER BY t.environment_id, t.id
      FOR NO KEY UPDATE OF t
    ), advanced AS (
      UPDATE streams t SET last_sequence = t.last_sequence + l.count
      FROM locked l WHERE t.environment_id = l.environment_id AND t.id = l.id
      RETURNING l.n, t.environment_id, t.id, t.last_sequence - l.count AS before
    ), places AS (
      -- By group: a record finds its stream by subscript, where a join of all records with all groups would be a product.
      SELECT array_agg(a.environment_id ORDER BY w.n) AS environment_ids, array_agg(a.id ORDER BY w.n) AS stream_ids,
        array_agg(a.before ORDER BY w.n) AS befores
      FROM wanted w LEFT JOIN advanced a ON a.n = w.n
    ), appended AS (
      INSERT INTO stream_records (environment_id, stream_id, sequence, id, data, content_type, correlation_id, source_kind,
        source_id, run_id, attempt_number, created_at)
      SELECT p.environment_ids[r.n], p.stream_ids[r.n], p.befores[r.n] + r.position, r.id, r.data, r.content_type, r.correlation_id, r.source_kind,
        r.source_id, r.run_id, r.attempt_number, to_timestamp(r.created_at / 1000)
      FROM places p, unnest(
        ${each(({ group }) => group + 1)}::integer[], ${each(({ position }) => position)}::integer[],
        ${each(({ record }) => record.id)}::uuid[], ${each(({ record }) => record.data)}::text[],
        ${each(({ record }) => record.contentType)}::text[], ${each(({ record }) => record.correlationId)}::text[],
        ${each(({ append }) => append.source.kind)}::text[], ${each(({ append }) => append.source.id)}::text[],
        ${each(({ append }) => append.source.runId)}::uuid[], ${each(({ append }) => append.source.attemptNumber)}::integer[],
        ${each(({ append }) => append.at)}::float8[]
      ) AS r (n, position, id, data, content_type, correlation_id, source_kind, source_id, run_id, attempt_number, created_at)
      WHERE p.stream_ids[r.n] IS NOT NULL
    )
    SELECT n, id AS "streamId", before FROM advanced`);
  const begun = new Map(rows.map((row) => [row.n, row]));
  return placed.map(({ group, offset }) => {
    const row = begun.get(group + 1);
    return row === undefined ? null : { streamId: row.streamId, firstSequence: row.before + offset + 1 };
  });
}

/** What a new turn of the session is told from: the input that came after this moment is not yet any turn's. */
export async function markTurnBegun(tx: Tx, environmentId: string, sessionId: string): Promise<void> {
  await tx.query(sql`
    UPDATE streams SET turn_sequence = last_sequence, gate = 'open'
    WHERE environment_id = ${environmentId} AND session_id = ${sessionId} AND direction = 'input'`);
}

/** @returns the ids of the streams. They are locked in key order first, as everywhere. */
export async function setGates(
  tx: Tx,
  environmentId: string,
  sessionIds: readonly string[],
  gate: StreamGate,
): Promise<{ streamId: string; sessionId: string; direction: StreamDirection }[]> {
  return tx.query(sql`
    WITH locked AS (
      SELECT environment_id, id FROM streams
      WHERE environment_id = ${environmentId} AND session_id = ANY(${sessionIds}::uuid[])
        AND (direction = 'input' OR ${gate} = 'ended')
      ORDER BY environment_id, id
      FOR NO KEY UPDATE
    )
    UPDATE streams t SET gate = ${gate} FROM locked l WHERE t.environment_id = l.environment_id AND t.id = l.id
    RETURNING t.id AS "streamId", t.session_id AS "sessionId", t.direction`);
}

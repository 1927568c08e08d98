import type { StreamDirection, Uuid, WhileBusy } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { binaryTextArray } from "../../db/binary-text-array.ts";
import { sql, type Sql } from "../../db/sql.ts";
import {
  keyOfStream,
  type Append,
  type Inserted,
  type NewRecord,
  type RecordSource,
  type StreamGate,
  type StreamKey,
} from "./stream.ts";

export type NewStream = StreamKey & {
  id: Uuid<"strm">;
  direction: StreamDirection;
  gate: StreamGate;
  whileBusy: WhileBusy | null;
  createdAt: number;
};

/** Waits for whoever is inserting a stream of the same name and leaves theirs as it is. */
export async function insertStreams(tx: Tx, streams: readonly NewStream[]): Promise<void> {
  await tx.send(sql`
    INSERT INTO streams (environment_id, id, session_id, name, direction, gate, while_busy, created_at)
    SELECT environment_id, id, session_id, name, direction, gate, while_busy, to_timestamp(created_at / 1000)
    FROM unnest(
      ${streams.map((stream) => stream.environmentId)}::uuid[], ${streams.map((stream) => stream.id)}::uuid[],
      ${streams.map((stream) => stream.sessionId)}::uuid[], ${streams.map((stream) => stream.name)}::text[],
      ${streams.map((stream) => stream.direction)}::text[], ${streams.map((stream) => stream.gate)}::text[],
      ${streams.map((stream) => stream.whileBusy)}::text[], ${streams.map((stream) => stream.createdAt)}::float8[]
    ) AS n (environment_id, id, session_id, name, direction, gate, while_busy, created_at)
    ORDER BY environment_id, session_id, name
    ON CONFLICT (environment_id, session_id, name) DO NOTHING`);
}

/** Records that follow each other in a stream and come from the same source. `offset`: how many come before them. */
type Span = {
  group: number;
  offset: number;
  source: RecordSource;
  steer: boolean | null;
  records: { record: NewRecord; at: number }[];
};
/** Appends for one stream, counted together: its row is advanced once, and each knows how far from there it begins. */
type Group = { append: Append; count: number; spans: Span[] };
type Placed = { group: number; offset: number };

function placeAppends(appends: readonly Append[]): { groups: Group[]; placed: Placed[] } {
  const groups: Group[] = [];
  const indexes = new Map<string, number>();
  const placed = appends.map((append): Placed => {
    const key = `${append.direction} ${keyOfStream(append)}`;
    let at = indexes.get(key);
    if (at === undefined) {
      at = groups.push({ append, count: 0, spans: [] }) - 1;
      indexes.set(key, at);
    }
    const group = groups[at] as Group;
    const offset = group.count;
    let span = group.spans.at(-1);
    const { source, steer = null } = append;
    if (span === undefined || span.steer !== steer || !isSame(span.source, source))
      group.spans.push((span = { group: at, offset, source, steer, records: [] }));
    for (const record of append.records) span.records.push({ record, at: append.at });
    group.count += append.records.length;
    return { group: at, offset };
  });
  return { groups, placed };
}

const isSame = (a: RecordSource, b: RecordSource): boolean =>
  a.kind === b.kind &&
  a.id === b.id &&
  a.runId === b.runId &&
  a.attemptNumber === b.attemptNumber &&
  a.messageId === b.messageId;

/**
 * The records of the spans, each a slice of arrays that hold the records of all of them. An array that is unnested in the
 * list of columns is read as it goes; in FROM it would first be written into a store of its own.
 */
function recordsOf(spans: readonly Span[], hasInput: boolean): Sql {
  const records = spans.flatMap((span) => span.records);
  let last = 0;
  const lasts = spans.map((span) => (last += span.records.length));
  const firsts = spans.map((span, index) => (lasts[index] as number) - span.records.length + 1);
  const isPlain = records.every(({ record }) => record.contentType === null && record.correlationId === null);
  return sql`
    SELECT p.environment_ids[s.n] AS environment_id, p.stream_ids[s.n] AS stream_id,
      p.befores[s.n] + s.position + generate_series(1, s.last - s.first + 1) AS sequence,
      unnest((${records.map(({ record }) => record.id)}::uuid[])[s.first:s.last]) AS id,
      unnest((${binaryTextArray(records.map(({ record }) => record.data))}::text[])[s.first:s.last]) AS data,
      ${
        isPlain
          ? NO_RARE_COLUMNS
          : sql`unnest((${records.map(({ record }) => record.contentType)}::text[])[s.first:s.last]) AS content_type,
      unnest((${records.map(({ record }) => record.correlationId)}::text[])[s.first:s.last]) AS correlation_id`
      },
      s.source_kind, s.source_id, s.run_id, s.attempt_number, s.message_id,
      ${hasInput ? STEER : NO_STEER} AS steer,
      unnest((${records.map(({ at }) => at)}::float8[])[s.first:s.last]) AS created_at
    FROM places p, unnest(
      ${spans.map(({ group }) => group + 1)}::integer[], ${spans.map(({ offset }) => offset)}::integer[],
      ${firsts}::integer[], ${lasts}::integer[],
      ${spans.map(({ source }) => source.kind)}::text[], ${spans.map(({ source }) => source.id)}::text[],
      ${spans.map(({ source }) => source.runId)}::uuid[], ${spans.map(({ source }) => source.attemptNumber)}::integer[],
      ${spans.map(({ source }) => source.messageId)}::uuid[]${hasInput ? sql`, ${spans.map(({ steer }) => steer)}::boolean[]` : sql``}
    ) AS s (n, position, first, last, source_kind, source_id, run_id, attempt_number, message_id${hasInput ? sql`, steer` : sql``})
    WHERE p.stream_ids[s.n] IS NOT NULL`;
}

/** Most batches have no record with either, and pay nothing for those that do. */
const NO_RARE_COLUMNS = sql`NULL::text AS content_type, NULL::text AS correlation_id`;

/** As its sender says, else as the actor declares. */
const STEER = sql`nullif(coalesce(s.steer, p.steers[s.n]), false)`;
const NO_STEER = sql`NULL::boolean`;

/**
 * Who appends. `live_run`: a live run of each session, which may go on when its session has ended. `session`: whoever has locked the
 * session, and has decided what the input does. `caller`: anybody else.
 */
export type Appender = "live_run" | "session" | "caller";

/**
 * Appends for many callers and streams in one statement. The streams' rows are locked in key order and advanced by the
 * number of records, so that records are numbered without gaps in the order of the commits. An append whose stream is
 * not there, has the other direction or whose gate is not open is left out: its result is null. So is one of a caller to a stream
 * whose actor declares more than that input is appended.
 */
export async function insertRecords(
  db: Queryable,
  appends: readonly Append[],
  by: Appender,
): Promise<(Inserted | null)[]> {
  if (appends.length === 0) return [];
  const { groups, placed } = placeAppends(appends);
  const of = <T>(pick: (append: Append) => T): T[] => groups.map(({ append }) => pick(append));
  const hasInput = appends.some(({ direction }) => direction === "input");
  const rows = await db.query<{ n: number; streamId: Uuid<"strm">; before: number; steers: boolean }>(sql`
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
        AND t.direction = w.direction AND (${by === "live_run"} OR t.gate = 'open'
          AND (${by === "session"} OR t.while_busy IS NULL OR t.while_busy = 'steer'))
      ORDER BY t.environment_id, t.id
      FOR NO KEY UPDATE OF t
    ), advanced AS (
      UPDATE streams t SET last_sequence = t.last_sequence + l.count
      FROM locked l WHERE t.environment_id = l.environment_id AND t.id = l.id
      RETURNING l.n, t.environment_id, t.id, t.last_sequence - l.count AS before,
        t.while_busy IS NOT DISTINCT FROM 'steer' AS steers
    ), places AS (
      -- By group: a span finds its stream by subscript, where a join of all spans with all groups would be a product.
      SELECT array_agg(a.environment_id ORDER BY w.n) AS environment_ids, array_agg(a.id ORDER BY w.n) AS stream_ids,
        array_agg(a.before ORDER BY w.n) AS befores, array_agg(a.steers ORDER BY w.n) AS steers
      FROM wanted w LEFT JOIN advanced a ON a.n = w.n
    ), appended AS (
      INSERT INTO stream_records (environment_id, stream_id, sequence, id, data, content_type, correlation_id, source_kind,
        source_id, run_id, attempt_number, message_id, steer, created_at)
      SELECT environment_id, stream_id, sequence, id, data, content_type, correlation_id, source_kind,
        source_id, run_id, attempt_number, message_id, steer, to_timestamp(created_at / 1000)
      FROM (${recordsOf(
        groups.flatMap(({ spans }) => spans),
        hasInput,
      )}) r
    )
    SELECT n, id AS stream_id, before, steers FROM advanced`);
  const begun = new Map(rows.map((row) => [row.n, row]));
  return placed.map(({ group, offset }, index) => {
    const row = begun.get(group + 1);
    if (row === undefined) return null;
    const { streamId, before, steers } = row;
    return { streamId, firstSequence: before + offset + 1, steer: appends[index]?.steer ?? steers };
  });
}

/**
 * What a new turn of the session is told from: the input that came after this moment is not yet any turn's. What that does is as the
 * turn's deployment declares it, which the session's row has.
 */
export async function markTurnBegun(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<void> {
  await tx.send(sql`
    UPDATE streams SET turn_sequence = last_sequence, gate = 'open', while_busy = (
      SELECT s.while_busy FROM sessions s WHERE s.environment_id = ${environmentId} AND s.id = ${sessionId})
    WHERE environment_id = ${environmentId} AND session_id = ${sessionId} AND direction = 'input'`);
}

/** @returns the ids of the streams. They are locked in key order first, as everywhere. */
export async function setGates(
  tx: Tx,
  environmentId: Uuid<"env">,
  sessionIds: readonly Uuid<"sess">[],
  gate: StreamGate,
): Promise<{ streamId: Uuid<"strm">; sessionId: Uuid<"sess">; direction: StreamDirection }[]> {
  return tx.query(sql`
    WITH locked AS (
      SELECT environment_id, id FROM streams
      WHERE environment_id = ${environmentId} AND session_id = ANY(${sessionIds}::uuid[])
        AND (direction = 'input' OR ${gate} = 'ended')
      ORDER BY environment_id, id
      FOR NO KEY UPDATE
    )
    UPDATE streams t SET gate = ${gate} FROM locked l WHERE t.environment_id = l.environment_id AND t.id = l.id
    RETURNING t.id AS stream_id, t.session_id, t.direction`);
}

/** Removes the records of a locked stream from that sequence on, which are numbered again. */
export async function removeNewest(
  tx: Tx,
  environmentId: Uuid<"env">,
  streamId: Uuid<"strm">,
  firstSequence: number,
): Promise<void> {
  await tx.send(sql`
    WITH removed AS (
      DELETE FROM stream_records
      WHERE environment_id = ${environmentId} AND stream_id = ${streamId} AND sequence >= ${firstSequence}
    )
    UPDATE streams SET last_sequence = ${firstSequence - 1} WHERE environment_id = ${environmentId} AND id = ${streamId}`);
}

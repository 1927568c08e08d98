import type { SessionStatus, StreamDirection } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { StreamGate, StreamKey, RecordRow } from "./stream.ts";

export type StreamRow = {
  id: string;
  environmentId: string;
  sessionId: string;
  name: string;
  direction: StreamDirection;
  lastSequence: number;
  receivedSequence: number;
  turnSequence: number;
  /** Records up to this one are no longer kept. */
  keptAfter: number;
  gate: StreamGate;
  createdAt: number;
};

const COLUMNS = rawSql(`
  t.id, t.environment_id AS "environmentId", t.session_id AS "sessionId", t.name, t.direction, t.last_sequence AS "lastSequence",
  t.received_sequence AS "receivedSequence", t.turn_sequence AS "turnSequence", t.kept_after AS "keptAfter",
  t.gate, t.created_at AS "createdAt"`);

/** Of the wanted streams those that are there, in no order. */
export function findStreams(db: Queryable, keys: readonly StreamKey[]): Promise<StreamRow[]> {
  return db.query<StreamRow>(sql`
    SELECT ${COLUMNS}
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.sessionId)}::uuid[],
      ${keys.map((key) => key.name)}::text[]) AS k (environment_id, session_id, name)
    JOIN streams t ON t.environment_id = k.environment_id AND t.session_id = k.session_id AND t.name = k.name`);
}

/** Newest first, after the stream `before`. */
export function listStreams(
  db: Queryable,
  environmentId: string,
  sessionId: string,
  before: string | null,
  limit: number,
): Promise<StreamRow[]> {
  return db.query<StreamRow>(sql`
    SELECT ${COLUMNS} FROM streams t
    WHERE t.environment_id = ${environmentId} AND t.session_id = ${sessionId}
      AND (${before}::uuid IS NULL OR t.id < ${before}::uuid)
    ORDER BY t.id DESC LIMIT ${limit}`);
}

export async function listSessionStreamIds(
  db: Queryable,
  environmentId: string,
  sessionId: string,
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    SELECT id FROM streams WHERE environment_id = ${environmentId} AND session_id = ${sessionId}`);
  return rows.map(({ id }) => id);
}

/** Locks streams in key order, which every transaction that locks several keeps. */
export async function lockStreams(
  tx: Tx,
  streams: readonly { environmentId: string; id: string }[],
): Promise<void> {
  await tx.query(sql`
    SELECT 1 AS locked FROM streams
    WHERE (environment_id, id) IN (
      SELECT * FROM unnest(${streams.map((s) => s.environmentId)}::uuid[], ${streams.map((s) => s.id)}::uuid[]))
    ORDER BY environment_id, id
    FOR NO KEY UPDATE`);
}

/** Locks streams of a session in key order, which every transaction that locks several keeps. */
export function lockSessionStreams(
  tx: Tx,
  environmentId: string,
  sessionId: string,
  direction: StreamDirection,
): Promise<StreamRow[]> {
  return tx.query<StreamRow>(sql`
    SELECT ${COLUMNS} FROM streams t
    WHERE t.environment_id = ${environmentId} AND t.session_id = ${sessionId} AND t.direction = ${direction}
    ORDER BY t.environment_id, t.id
    FOR NO KEY UPDATE`);
}

const RECORD_COLUMNS = rawSql(`
  id, sequence, data, content_type AS "contentType", correlation_id AS "correlationId", source_kind AS "sourceKind",
  source_id AS "sourceId", run_id AS "runId", attempt_number AS "attemptNumber", created_at AS "createdAt"`);

export type RecordRange = {
  environmentId: string;
  streamId: string;
  /** Only what comes after this sequence. */
  after: number;
  /** Only the records of one exchange. */
  correlationId: string | null;
  limit: number;
  /** As many as together fit into this, but always the first. */
  maxBytes: number;
};

const matching = ({ environmentId, streamId, after, correlationId }: RecordRange) =>
  correlationId === null
    ? sql`environment_id = ${environmentId} AND stream_id = ${streamId} AND sequence > ${after}`
    : sql`environment_id = ${environmentId} AND stream_id = ${streamId} AND correlation_id = ${correlationId} AND sequence > ${after}`;

const sizedPage = (range: RecordRange) => sql`
  SELECT ${RECORD_COLUMNS}, found
  FROM (
    SELECT *, sum(octet_length(data)) OVER w AS bytes, row_number() OVER w AS position, count(*) OVER () AS found
    FROM (SELECT * FROM stream_records WHERE ${matching(range)} ORDER BY sequence LIMIT ${range.limit}) page
    WINDOW w AS (ORDER BY sequence)
  ) sized
  WHERE bytes <= ${range.maxBytes} OR position = 1
  ORDER BY sequence`;

/** Oldest first, within the range's limits. */
export const listRecords = (db: Queryable, range: RecordRange): Promise<RecordRow[]> =>
  db.query<RecordRow>(sizedPage(range));

export type RecordPage = {
  records: RecordRow[];
  /** There were more within the limit than fitted into the bytes. */
  isCut: boolean;
  sessionStatus: SessionStatus;
  /** The session has ended and no live run of it can append any more. What is in `records` may still not be all. */
  isOver: boolean;
};

/** Records with the state of their session, both of one moment. Null when there is no such session. */
export async function readRecords(
  db: Queryable,
  sessionId: string,
  range: RecordRange,
): Promise<RecordPage | null> {
  const rows = await db.query<
    RecordRow & { sessionStatus: SessionStatus; isLive: boolean; found: number }
  >(sql`
    SELECT s.status AS "sessionStatus", e.run_id IS NOT NULL AS "isLive", r.*
    FROM sessions s
    LEFT JOIN executions e ON e.environment_id = s.environment_id AND e.run_id = s.current_run_id
    LEFT JOIN LATERAL (${sizedPage(range)}) r ON true
    WHERE s.environment_id = ${range.environmentId} AND s.id = ${sessionId}
    ORDER BY r.sequence`);
  const [first] = rows;
  if (first === undefined) return null;
  return {
    // Without a record the joined columns are null.
    records: (first.sequence as number | null) === null ? [] : rows,
    isCut: first.found > rows.length,
    sessionStatus: first.sessionStatus,
    isOver: first.sessionStatus !== "open" && !first.isLive,
  };
}

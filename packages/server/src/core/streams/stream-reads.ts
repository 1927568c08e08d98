import type { SessionStatus, StreamDirection, Uuid, WhileBusy } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import { joinByKey, lockByKey } from "../../db/join-by-key.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";
import type { StreamGate, StreamKey, RecordRow } from "./stream.ts";

export type StreamRow = {
  id: Uuid<"strm">;
  environmentId: Uuid<"env">;
  sessionId: Uuid<"sess">;
  name: string;
  direction: StreamDirection;
  lastSequence: number;
  receivedSequence: number;
  turnSequence: number;
  /** Withdrawn records, with all that are beyond the received ones. */
  withdrawnSequences: number[] | null;
  /** Records up to this one are no longer kept. */
  keptAfter: number;
  gate: StreamGate;
  /** A message of it was ended although its code may still write it. */
  fenced: boolean;
  createdAt: number;
};

const COLUMNS = rawSql(`
  t.id, t.environment_id, t.session_id, t.name, t.direction, t.last_sequence,
  t.received_sequence, t.turn_sequence, t.withdrawn_sequences, t.kept_after,
  t.gate, t.fenced, t.created_at`);

/** Of the wanted streams those that are there, in no order. */
export function findStreams(db: Queryable, keys: readonly StreamKey[]): Promise<StreamRow[]> {
  return db.query<StreamRow>(sql`
    SELECT ${COLUMNS}
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.sessionId)}::uuid[],
      ${keys.map((key) => key.name)}::text[]) AS k (environment_id, session_id, name)
    ${joinByKey("streams", "t", sql`t.environment_id = k.environment_id AND t.session_id = k.session_id AND t.name = k.name`)}`);
}

/** Newest first, after the stream `before`. */
export function listStreams(
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
  before: string | null,
  limit: number,
): Promise<StreamRow[]> {
  return db.query<StreamRow>(sql`
    SELECT ${COLUMNS} FROM streams t
    WHERE t.environment_id = ${environmentId} AND t.session_id = ${sessionId}
      AND ${isBefore(sql`t.id`, before)}
    ORDER BY t.id DESC LIMIT ${limit}`);
}

export async function listSessionStreamIds(
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<Uuid<"strm">[]> {
  const rows = await db.query<{ id: Uuid<"strm"> }>(sql`
    SELECT id FROM streams WHERE environment_id = ${environmentId} AND session_id = ${sessionId}`);
  return rows.map(({ id }) => id);
}

/** Locks streams in key order, which every transaction that locks several keeps, for what follows: nobody waits for it. */
export async function lockStreams(
  tx: Tx,
  streams: readonly { environmentId: Uuid<"env">; id: Uuid<"strm"> }[],
): Promise<void> {
  await tx.send(sql`
    SELECT t.id
    FROM (
      SELECT * FROM unnest(${streams.map((s) => s.environmentId)}::uuid[], ${streams.map((s) => s.id)}::uuid[])
        AS n (environment_id, id) ORDER BY environment_id, id
    ) k
    ${lockByKey("FOR NO KEY UPDATE", "streams", "t", sql`t.environment_id = k.environment_id AND t.id = k.id`, "id")}`);
}

/** In key order, which every transaction that locks several keeps. */
const lockedOfSession = (
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
  direction: StreamDirection,
): Sql => sql`
  SELECT ${COLUMNS} FROM streams t
  WHERE t.environment_id = ${environmentId} AND t.session_id = ${sessionId} AND t.direction = ${direction}
  ORDER BY t.environment_id, t.id
  FOR NO KEY UPDATE`;

/** Locks streams of a session. */
export const lockSessionStreams = (
  tx: Tx,
  ...streams: Parameters<typeof lockedOfSession>
): Promise<StreamRow[]> => tx.query<StreamRow>(lockedOfSession(...streams));

/** The same for what follows, which nobody waits for. */
export const holdSessionStreams = (tx: Tx, ...streams: Parameters<typeof lockedOfSession>): Promise<void> =>
  tx.send(lockedOfSession(...streams));

/** One stream, locked; null when it is not there. */
export async function lockStream(
  tx: Tx,
  { environmentId, sessionId, name }: StreamKey,
): Promise<StreamRow | null> {
  const [row] = await tx.query<StreamRow>(sql`
    SELECT ${COLUMNS} FROM streams t
    WHERE t.environment_id = ${environmentId} AND t.session_id = ${sessionId} AND t.name = ${name}
    FOR NO KEY UPDATE`);
  return row ?? null;
}

const RECORD_COLUMNS = rawSql(`
  id, sequence, data, content_type, correlation_id, source_kind,
  source_id, run_id, attempt_number, message_id, created_at, withdrawn_at, steer`);

export type RecordRange = {
  environmentId: Uuid<"env">;
  streamId: Uuid<"strm">;
  /** Only what comes after this sequence. */
  after: number;
  /** Only the records of one exchange. */
  correlationId: string | null;
  /** Only what no run has received and nobody has withdrawn, of an input stream. */
  unreceived: boolean;
  limit: number;
  /** As many as together fit into this, but always the first. */
  maxBytes: number;
};

function matching({ environmentId, streamId, after, correlationId, unreceived }: RecordRange): Sql {
  const conditions = [
    sql`environment_id = ${environmentId} AND stream_id = ${streamId}`,
    ...(correlationId === null ? [] : [sql`correlation_id = ${correlationId}`]),
    sql`sequence > ${after}`,
    ...(unreceived
      ? [
          sql`withdrawn_at IS NULL AND sequence > (
            SELECT t.received_sequence FROM streams t WHERE t.environment_id = ${environmentId} AND t.id = ${streamId})`,
        ]
      : []),
  ];
  return joinSql(conditions, " AND ");
}

const sizedPage = (range: RecordRange) => sql`
  SELECT ${RECORD_COLUMNS}, found
  FROM (
    SELECT *, sum(octet_length(data)) OVER w AS bytes, row_number() OVER w AS position, count(*) OVER () AS found
    FROM (SELECT * FROM stream_records WHERE ${matching(range)} ORDER BY sequence LIMIT ${range.limit}) page
    WINDOW w AS (ORDER BY sequence)
  ) sized
  WHERE bytes <= ${range.maxBytes} OR position = 1
  ORDER BY sequence`;

export async function findRecord(
  db: Queryable,
  environmentId: Uuid<"env">,
  streamId: Uuid<"strm">,
  sequence: number,
): Promise<RecordRow | null> {
  const [row] = await db.query<RecordRow>(sql`
    SELECT ${RECORD_COLUMNS} FROM stream_records
    WHERE environment_id = ${environmentId} AND stream_id = ${streamId} AND sequence = ${sequence}`);
  return row ?? null;
}

/** Those that are rows, oldest first, within the range's limits. */
export const listRecordRows = (db: Queryable, range: RecordRange): Promise<RecordRow[]> =>
  db.query<RecordRow & { found: number }>(sizedPage(range));

export type RecordPage = {
  records: RecordRow[];
  /** There were more within the limit than fitted into the bytes. */
  isCut: boolean;
  sessionStatus: SessionStatus;
  /** The session has ended, no live run of it can append any more, and what its last run left open has ended. What is in `records` may still not be all. */
  isOver: boolean;
};

type PageRow = RecordRow & {
  sessionStatus: SessionStatus;
  isLive: boolean;
  isPacked: boolean;
  found: number;
};

/**
 * Records that are rows, with the state of their session, both of one moment; `isPacked`: after the range's beginning there
 * were records in packs. Null when there is no such session.
 */
export async function readRecordRows(
  db: Queryable,
  sessionId: Uuid<"sess">,
  range: RecordRange,
): Promise<(RecordPage & { isPacked: boolean }) | null> {
  const rows = await db.query<PageRow>(sql`
    SELECT s.status AS session_status, e.run_id IS NOT NULL OR a.run_id IS NOT NULL AS is_live,
      EXISTS (
        SELECT FROM streams t
        WHERE t.environment_id = ${range.environmentId} AND t.id = ${range.streamId} AND t.packed_sequence > ${range.after}) AS is_packed,
      r.*
    FROM sessions s
    LEFT JOIN executions e ON e.environment_id = s.environment_id AND e.run_id = s.current_run_id
    LEFT JOIN awaited_endings a ON a.environment_id = s.environment_id AND a.run_id = s.current_run_id
    LEFT JOIN LATERAL (${sizedPage(range)}) r ON true
    WHERE s.environment_id = ${range.environmentId} AND s.id = ${sessionId}
    ORDER BY r.sequence`);
  const [first] = rows;
  if (first === undefined) return null;
  return {
    // Without a record the joined columns are null.
    records: (first.sequence as number | null) === null ? [] : rows,
    isCut: first.found > rows.length,
    isPacked: first.isPacked,
    sessionStatus: first.sessionStatus,
    isOver: first.sessionStatus !== "open" && !first.isLive,
  };
}

export async function countStreams(
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT count(*) AS count FROM streams WHERE environment_id = ${environmentId} AND session_id = ${sessionId}`);
  return row?.count ?? 0;
}

/** What a new stream takes over from its session. */
export type SessionState = {
  environmentId: Uuid<"env">;
  id: Uuid<"sess">;
  status: SessionStatus;
  idle: boolean;
  whileBusy: WhileBusy | null;
};

/** Holds sessions in their state until the end of the transaction, in key order. */
export function holdSessions(
  tx: Tx,
  keys: readonly { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> }[],
): Promise<SessionState[]> {
  return tx.query<SessionState>(sql`
    SELECT s.environment_id, s.id, s.status, s.idle, s.while_busy
    FROM sessions s
    JOIN (SELECT DISTINCT * FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.sessionId)}::uuid[])
      AS u (environment_id, id)) k ON k.environment_id = s.environment_id AND k.id = s.id
    ORDER BY s.environment_id, s.id
    FOR SHARE OF s`);
}

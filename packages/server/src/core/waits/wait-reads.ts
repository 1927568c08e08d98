import type { ExecutionKey } from "../executions/execution.ts";
import type { DurableWaitKind, RunStatus, TokenStatus, WaitStatus, Uuid } from "@keelson/contract";
import { joinByKey, leftJoinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { amongLive } from "../../db/among-live.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Among } from "../../live-ids.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { RecordRow } from "../streams/stream.ts";
import type { WaitKey } from "./wait.ts";

/** A wait with what it resolved to, read from where that is. JSON is text, times are milliseconds. */
export type WaitRow = WaitKey & {
  /** Null: the SDK that made the call kept none. */
  place: number | null;
  id: Uuid<"wait">;
  name: string;
  kind: DurableWaitKind;
  status: WaitStatus;
  timeoutAt: number | null;
  tokenStatus: TokenStatus | null;
  tokenData: string | null;
  childStatus: RunStatus | null;
  childOutput: string | null;
  childFailure: string | null;
  record: WaitRecord | null;
  /** The message that it is for was interrupted. */
  isInterrupted: boolean;
};

/** The record that a wait for input received, and where. */
export type WaitRecord = RecordRow & { sessionId: Uuid<"sess">; stream: string };

type FlatRow = Omit<WaitRow, "record"> & {
  [Field in Exclude<keyof WaitRecord, "withdrawnAt"> as `record${Capitalize<Field>}`]:
    | WaitRecord[Field]
    | null;
};

const COLUMNS = rawSql(`
  w.environment_id, w.run_id, w.position, w.place, w.id, w.name, w.kind, w.status,
  w.timeout_at, t.status AS token_status, t.data AS token_data, x.status AS child_status,
  x.output AS child_output, x.failure AS child_failure, g.interrupt_requested_at IS NOT NULL AS is_interrupted, r.id AS record_id, s.session_id AS record_session_id,
  s.name AS record_stream, r.sequence AS record_sequence, r.data AS record_data, r.content_type AS record_content_type,
  r.correlation_id AS record_correlation_id, r.source_kind AS record_source_kind, r.source_id AS record_source_id,
  r.run_id AS record_run_id, r.attempt_number AS record_attempt_number, r.message_id AS record_message_id,
  r.created_at AS record_created_at, r.steer AS record_steer`);

/** Each join finds a row by its key, and only for a wait of its kind that has resolved. */
const JOINED = sql`
  ${leftJoinByKey("tokens", "t", sql`w.status = 'resolved' AND t.environment_id = w.environment_id AND t.id = w.token_id`)}
  ${leftJoinByKey("run_results", "x", sql`w.status = 'resolved' AND x.environment_id = w.environment_id AND x.run_id = w.child_run_id`)}
  ${leftJoinByKey("messages", "g", sql`w.status = 'resolved' AND g.environment_id = w.environment_id AND g.id = w.message_id`)}
  ${leftJoinByKey("streams", "s", sql`s.environment_id = w.environment_id AND s.id = w.stream_id`)}
  ${leftJoinByKey(
    "stream_records",
    "r",
    sql`w.status = 'resolved' AND r.environment_id = w.environment_id AND r.stream_id = w.stream_id
      AND r.sequence = w.record_sequence`,
  )}`;

function toWaitRow(flat: FlatRow): WaitRow {
  const { recordId, recordSessionId, recordStream, recordSequence, recordData, ...rest } = flat;
  const {
    recordContentType: contentType,
    recordCorrelationId: correlationId,
    recordSourceKind,
    recordSourceId: sourceId,
    recordRunId,
    recordAttemptNumber: attemptNumber,
    recordMessageId: messageId,
    recordCreatedAt,
    recordSteer: steer,
    ...wait
  } = rest;
  if (recordId === null) return { ...wait, record: null };
  const record = {
    id: recordId,
    sessionId: recordSessionId as Uuid<"sess">,
    stream: recordStream as string,
    sequence: recordSequence as number,
    data: recordData as string,
    contentType,
    correlationId,
    sourceKind: recordSourceKind as WaitRecord["sourceKind"],
    sourceId,
    runId: recordRunId,
    attemptNumber,
    messageId,
    createdAt: recordCreatedAt as number,
    // No run receives what was withdrawn.
    withdrawnAt: null,
    steer,
  };
  return { ...wait, record };
}

/** Waits of these runs, oldest call first. */
async function listWaits(db: Queryable, keys: readonly ExecutionKey[], which: Sql): Promise<WaitRow[]> {
  if (keys.length === 0) return [];
  const rows = await db.query<FlatRow>(sql`
    SELECT ${COLUMNS}
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.run_id = k.run_id AND ${which}`)}
    ${JOINED}
    ORDER BY w.environment_id, w.run_id, w.position`);
  return rows.map(toWaitRow);
}

/** Those that the journals do not have. */
export const listUnacceptedWaits = (db: Queryable, keys: readonly ExecutionKey[]): Promise<WaitRow[]> =>
  listWaits(db, keys, sql`NOT w.accepted`);

/** Those that have settled, and the journals do not have. */
export const listSettledWaits = (db: Queryable, keys: readonly ExecutionKey[]): Promise<WaitRow[]> =>
  listWaits(db, keys, sql`NOT w.accepted AND w.status <> 'pending'`);

/** Those that the journals have. */
export const listAcceptedWaits = (db: Queryable, keys: readonly ExecutionKey[]): Promise<WaitRow[]> =>
  listWaits(db, keys, sql`w.accepted`);

/** The waits of a run at these positions. */
export async function listWaitsAt(
  db: Queryable,
  { environmentId, runId }: ExecutionKey,
  positions: readonly number[],
): Promise<WaitRow[]> {
  if (positions.length === 0) return [];
  const rows = await db.query<FlatRow>(sql`
    SELECT ${COLUMNS} FROM run_waits w
    ${JOINED}
    WHERE w.environment_id = ${environmentId} AND w.run_id = ${runId} AND w.position = ANY(${positions}::integer[])`);
  return rows.map(toWaitRow);
}

export type LeasedWaits = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  leaseId: Uuid<"lease">;
  epoch: number;
  waits: WaitRow[];
};

/**
 * Settled waits of a worker's runs that their journals do not have: what the worker is told until they do.
 *
 * @param live which leases of the worker live
 */
export async function listResumptions(
  db: Queryable,
  workerId: Uuid<"wkr">,
  live: Among | null,
): Promise<LeasedWaits[]> {
  const rows = await db.query<FlatRow & { leaseId: Uuid<"lease">; epoch: number }>(sql`
    SELECT e.lease_id, e.epoch, ${COLUMNS}
    FROM (${amongLive(
      live,
      sql`lease_id`,
      (isAmong) => sql`
      SELECT environment_id, run_id, lease_id, epoch FROM executions
      WHERE worker_id = ${workerId} AND wait_count > 0 AND ${isAmong}
      ORDER BY lease_id`,
    )}) e
    JOIN run_waits w ON w.environment_id = e.environment_id AND w.run_id = e.run_id AND NOT w.accepted AND w.status <> 'pending'
    ${JOINED}
    ORDER BY w.environment_id, w.run_id, w.position`);
  const byLease = new Map<string, LeasedWaits>();
  for (const { leaseId, epoch, ...row } of rows) {
    const { environmentId, runId } = row;
    const known = byLease.get(leaseId) ?? { environmentId, runId, leaseId, epoch, waits: [] };
    byLease.set(leaseId, known);
    known.waits.push(toWaitRow(row));
  }
  return [...byLease.values()];
}

/** A pending wait that somebody means to settle; locked through its run, so it is read again under that lock. */
export type PendingWait = WaitKey & {
  id: Uuid<"wait">;
  kind: DurableWaitKind;
  name: string;
  createdAt: number;
};

const PENDING = rawSql(`w.environment_id, w.run_id, w.position, w.id, w.kind, w.name, w.created_at`);

export const SETTLE_LIMIT = 500;

const ofDueLoop = (now: number): Sql =>
  isNotSetAside("settle-due-waits", sql`w.environment_id`, sql`w.run_id`, now);

export function listDueWaits(db: Queryable, now: number, limit: number): Promise<PendingWait[]> {
  return db.query<PendingWait>(sql`
    SELECT ${PENDING} FROM run_waits w
    WHERE w.status = 'pending' AND w.timeout_at <= ${timestamp(now)} AND ${ofDueLoop(now)}
    ORDER BY w.timeout_at LIMIT ${limit}`);
}

/** Milliseconds since the epoch at which the next wait is due; null when none is. */
export async function findNextDue(db: Queryable, now: number): Promise<number | null> {
  const [row] = await db.query<{ at: number | null }>(sql`
    SELECT w.timeout_at AS at FROM run_waits w
    WHERE w.status = 'pending' AND w.timeout_at IS NOT NULL AND ${ofDueLoop(now)}
    ORDER BY w.timeout_at LIMIT 1`);
  return row?.at ?? null;
}

/** A condition: a wait is due by then. */
export const hasWaitsDueBy = (at: number): Sql => sql`
  EXISTS (SELECT FROM run_waits w
    WHERE w.status = 'pending' AND w.timeout_at <= ${timestamp(at)} AND ${ofDueLoop(at)})`;

export function listTokenWaits(
  db: Queryable,
  tokens: readonly { environmentId: Uuid<"env">; id: Uuid<"tok"> }[],
): Promise<PendingWait[]> {
  return db.query<PendingWait>(sql`
    SELECT ${PENDING}
    FROM unnest(${tokens.map((token) => token.environmentId)}::uuid[], ${tokens.map((token) => token.id)}::uuid[]) AS k (environment_id, id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.token_id = k.id AND w.status = 'pending'`)}`);
}

export function listChildWaits(db: Queryable, children: readonly ExecutionKey[]): Promise<PendingWait[]> {
  return db.query<PendingWait>(sql`
    SELECT ${PENDING}
    FROM unnest(${children.map((key) => key.environmentId)}::uuid[], ${children.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.child_run_id = k.run_id AND w.status = 'pending'`)}`);
}

/** Waits for the end of a message. */
export const listMessageWaits = (
  db: Queryable,
  { environmentId, id, streamId }: { environmentId: Uuid<"env">; id: Uuid<"msg">; streamId: Uuid<"strm"> },
): Promise<PendingWait[]> =>
  db.query<PendingWait>(sql`
    SELECT ${PENDING} FROM run_waits w
    WHERE w.environment_id = ${environmentId} AND w.stream_id = ${streamId} AND w.message_id = ${id} AND w.status = 'pending'`);

/** Waits for input whose record is there, or whose session takes none any more: then `hasRecord` is false. */
export function listInputWaits(
  db: Queryable,
  environmentId: Uuid<"env">,
  streamIds: readonly Uuid<"strm">[],
): Promise<(PendingWait & { streamId: Uuid<"strm">; recordSequence: number; hasRecord: boolean })[]> {
  return db.query(sql`
    SELECT ${PENDING}, w.stream_id, w.record_sequence,
      w.record_sequence <= s.last_sequence AS has_record
    FROM run_waits w
    JOIN streams s ON s.environment_id = w.environment_id AND s.id = w.stream_id
    WHERE w.environment_id = ${environmentId} AND w.stream_id = ANY(${streamIds}::uuid[]) AND w.status = 'pending'
      AND (w.record_sequence <= s.last_sequence OR s.gate = 'ended')`);
}

/** Whether a run has received a record of one of these streams, as far as its journal goes back. */
export async function hasReceivedFrom(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  streamIds: readonly Uuid<"strm">[],
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT FROM run_waits w
    WHERE w.environment_id = ${environmentId} AND w.run_id = ${runId} AND w.stream_id = ANY(${streamIds}::uuid[])
      AND w.kind = 'input' AND w.status = 'resolved' AND w.record_sequence IS NOT NULL
    LIMIT 1`);
  return rows.length > 0;
}

/**
 * Which of these are pending still. Under the locks of their runs the answer holds. At the position of one there is another wait
 * when its run has continued with an empty journal meanwhile.
 */
export function listStillPending(db: Queryable, waits: readonly PendingWait[]): Promise<PendingWait[]> {
  return db.query<PendingWait>(sql`
    SELECT ${PENDING}
    FROM unnest(${waits.map((w) => w.environmentId)}::uuid[], ${waits.map((w) => w.runId)}::uuid[], ${waits.map((w) => w.position)}::integer[],
      ${waits.map((w) => w.id)}::uuid[]) AS k (environment_id, run_id, position, id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.run_id = k.run_id AND w.position = k.position`)}
    WHERE w.id = k.id AND w.status = 'pending'
    ORDER BY w.environment_id, w.run_id, w.position`);
}

import type { MessageStatus, Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { MessageKey, MessagePart, OpenMessage } from "./message.ts";

export type MessageRow = Omit<OpenMessage, "streamId" | "epoch" | "call" | "spans" | "isInterrupted"> & {
  status: MessageStatus;
  firstSequence: number;
  lastSequence: number | null;
  /** JSON text. */
  data: string | null;
  createdAt: number;
  endedAt: number | null;
  interruptRequestedAt: number | null;
};

/** A run, with the session that it is of. */
export type SessionRun = ExecutionKey & { sessionId: Uuid<"sess"> };

const OPEN_COLUMNS = rawSql(`
  m.environment_id, m.id, m.session_id, m.stream_id, t.name, m.run_id, m.attempt_number, m.epoch, m.correlation_id, m.call, m.spans,
  m.interrupt_requested_at IS NOT NULL AS is_interrupted`);

/** Messages of these runs that have not ended. */
export async function listOpenMessages(db: Queryable, runs: readonly SessionRun[]): Promise<OpenMessage[]> {
  if (runs.length === 0) return [];
  return db.query<OpenMessage>(sql`
    SELECT ${OPEN_COLUMNS}
    FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.sessionId)}::uuid[],
      ${runs.map((run) => run.runId)}::uuid[]) AS k (environment_id, session_id, run_id)
    ${joinByKey(
      "messages",
      "m",
      sql`m.environment_id = k.environment_id AND m.session_id = k.session_id AND m.run_id = k.run_id AND m.status = 'open'`,
    )}
    JOIN streams t ON t.environment_id = m.environment_id AND t.id = m.stream_id
    ORDER BY m.environment_id, m.created_at, m.id`);
}

/** The parts of a message as rows: each with its `call`, whether it is `void`, and where it begins and ends. */
export const partsOf = (environmentId: Sql, messageId: Sql): Sql => sql`
  SELECT p.call, p.void, p.first_sequence, lead(p.first_sequence) OVER (ORDER BY p.first_sequence) - 1 AS last_sequence
  FROM message_parts p WHERE p.environment_id = ${environmentId} AND p.message_id = ${messageId}`;

/** The parts of these messages that count. */
export async function listParts(db: Queryable, keys: readonly MessageKey[]): Promise<MessagePart[]> {
  if (keys.length === 0) return [];
  return db.query<MessagePart>(sql`
    SELECT k.environment_id, k.id, p.call, p.first_sequence, p.last_sequence
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.id)}::uuid[]) AS k (environment_id, id)
    CROSS JOIN LATERAL (${partsOf(sql`k.environment_id`, sql`k.id`)}) p
    WHERE NOT p.void
    ORDER BY k.environment_id, k.id, p.first_sequence`);
}

/** `isOpen`: only those that have not ended. */
export type MessageFilter = {
  stream: string | null;
  /** Only those in one of these. */
  streamIds: readonly Uuid<"strm">[] | null;
  correlationId: string | null;
  isOpen: boolean;
};

/** A message's place in the list of its session. Messages of one report have one time, and are in the order of their stream. */
export type MessagePlace = { createdAt: number; firstSequence: number; id: Uuid<"msg"> };

const COLUMNS = rawSql(`
  m.environment_id, m.id, m.session_id, t.name, m.run_id, m.attempt_number, m.correlation_id, m.status, m.first_sequence,
  m.last_sequence, m.data, m.created_at, m.ended_at, m.interrupt_requested_at`);

/** Newest first. */
export function listMessages(
  db: Queryable,
  { environmentId, sessionId }: { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> },
  { stream, streamIds, correlationId, isOpen }: MessageFilter,
  after: MessagePlace | null,
  limit: number,
): Promise<MessageRow[]> {
  const conditions = [sql`m.environment_id = ${environmentId} AND m.session_id = ${sessionId}`];
  if (stream !== null)
    conditions.push(sql`m.stream_id = (
      SELECT s.id FROM streams s
      WHERE s.environment_id = ${environmentId} AND s.session_id = ${sessionId} AND s.name = ${stream})`);
  if (streamIds !== null) conditions.push(sql`m.stream_id = ANY(${streamIds}::uuid[])`);
  if (correlationId !== null) conditions.push(sql`m.correlation_id = ${correlationId}`);
  if (isOpen) conditions.push(sql`m.status = 'open'`);
  if (after !== null)
    conditions.push(sql`
      (m.created_at, m.first_sequence, m.id) < (${timestamp(after.createdAt)}, ${after.firstSequence}, ${after.id}::uuid)`);
  return db.query<MessageRow>(sql`
    SELECT ${COLUMNS} FROM messages m
    JOIN streams t ON t.environment_id = m.environment_id AND t.id = m.stream_id
    WHERE ${joinSql(conditions, " AND ")}
    ORDER BY m.created_at DESC, m.first_sequence DESC, m.id DESC LIMIT ${limit}`);
}

type FoundMessage = { streamId: Uuid<"strm">; status: MessageStatus; correlationId: string | null };

/** A message of a session, open or not. */
export async function findMessage(
  db: Queryable,
  { environmentId, sessionId, id }: MessageKey & { sessionId: Uuid<"sess"> },
): Promise<FoundMessage | null> {
  const [row] = await db.query<FoundMessage>(sql`
    SELECT stream_id, status, correlation_id FROM messages
    WHERE environment_id = ${environmentId} AND id = ${id} AND session_id = ${sessionId}`);
  return row ?? null;
}

/** The worker that has the run under the lease under which the message began; null: nobody can go on with it. */
export async function findWriter(
  db: Queryable,
  { environmentId, runId, epoch }: Pick<OpenMessage, "environmentId" | "runId" | "epoch">,
): Promise<Uuid<"wkr"> | null> {
  const [row] = await db.query<{ workerId: Uuid<"wkr"> }>(sql`
    SELECT worker_id FROM executions
    WHERE environment_id = ${environmentId} AND run_id = ${runId} AND epoch = ${epoch} AND worker_id IS NOT NULL`);
  return row?.workerId ?? null;
}

/** Of these messages those that have begun, and were not ended without their code. */
export async function listTakenMessages(
  db: Queryable,
  keys: readonly MessageKey[],
): Promise<{ id: Uuid<"msg"> }[]> {
  if (keys.length === 0) return [];
  return db.query(sql`
    SELECT m.id FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.id)}::uuid[])
      AS k (environment_id, id)
    ${joinByKey("messages", "m", sql`m.environment_id = k.environment_id AND m.id = k.id`)}
    WHERE m.status <> 'interrupted'`);
}

/** Calls of these runs whose message somebody wanted to end, however it did. */
export async function listInterruptedCalls(
  db: Queryable,
  runs: readonly ExecutionKey[],
): Promise<{ runId: Uuid<"run">; call: string }[]> {
  if (runs.length === 0) return [];
  return db.query(sql`
    SELECT m.run_id, m.call
    FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[])
      AS k (environment_id, run_id)
    ${joinByKey(
      "messages",
      "m",
      sql`m.environment_id = k.environment_id AND m.run_id = k.run_id AND m.interrupt_requested_at IS NOT NULL AND m.call IS NOT NULL`,
    )}`);
}

const isOverdue = (before: number) =>
  sql`m.status = 'open' AND m.interrupt_requested_at <= ${timestamp(before)}`;

/** A condition: there is a message whose end was asked for before then. */
export const hasOverdueInterrupts = (before: number, now: number) =>
  sql`EXISTS (SELECT FROM messages m WHERE ${isOverdue(before)} AND ${ofInterruptsLoop(now)})`;

const ofInterruptsLoop = (now: number) =>
  isNotSetAside("end-interrupted", sql`m.environment_id`, sql`m.id`, now);

/** Messages whose end was asked for before then, and whose code has not ended them. */
export const listOverdueInterrupts = (
  db: Queryable,
  before: number,
  now: number,
  limit: number,
): Promise<(SessionRun & MessageKey & { streamId: Uuid<"strm"> })[]> =>
  db.query(sql`
    SELECT m.environment_id, m.id, m.session_id, m.run_id, m.stream_id FROM messages m
    WHERE ${isOverdue(before)} AND ${ofInterruptsLoop(now)}
    ORDER BY m.interrupt_requested_at LIMIT ${limit}`);

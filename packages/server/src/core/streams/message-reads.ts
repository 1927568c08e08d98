import type { MessageStatus, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import type { OpenMessage } from "./message.ts";

export type MessageRow = Omit<OpenMessage, "streamId" | "epoch"> & {
  status: MessageStatus;
  firstSequence: number;
  lastSequence: number | null;
  /** JSON text. */
  data: string | null;
  createdAt: number;
  endedAt: number | null;
};

/** A run, with the session that it is of. */
export type SessionRun = ExecutionKey & { sessionId: Uuid<"sess"> };

/** Messages of these runs that have not ended. */
export async function listOpenMessages(db: Queryable, runs: readonly SessionRun[]): Promise<OpenMessage[]> {
  if (runs.length === 0) return [];
  return db.query<OpenMessage>(sql`
    SELECT m.environment_id, m.id, m.session_id, m.stream_id, t.name, m.run_id, m.attempt_number, m.epoch, m.correlation_id
    FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.sessionId)}::uuid[],
      ${runs.map((run) => run.runId)}::uuid[]) AS k (environment_id, session_id, run_id)
    JOIN messages m ON m.environment_id = k.environment_id AND m.session_id = k.session_id AND m.run_id = k.run_id
      AND m.status = 'open'
    JOIN streams t ON t.environment_id = m.environment_id AND t.id = m.stream_id
    ORDER BY m.environment_id, m.created_at, m.id`);
}

/** `isOpen`: only those that have not ended. */
export type MessageFilter = { stream: string | null; isOpen: boolean };

/** A message's place in the list of its session. */
export type MessagePlace = { createdAt: number; id: Uuid<"msg"> };

const COLUMNS = rawSql(`
  m.environment_id, m.id, m.session_id, t.name, m.run_id, m.attempt_number, m.correlation_id, m.status, m.first_sequence,
  m.last_sequence, m.data, m.created_at, m.ended_at`);

/** Newest first. */
export function listMessages(
  db: Queryable,
  { environmentId, sessionId }: { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> },
  { stream, isOpen }: MessageFilter,
  after: MessagePlace | null,
  limit: number,
): Promise<MessageRow[]> {
  const conditions = [sql`m.environment_id = ${environmentId} AND m.session_id = ${sessionId}`];
  if (stream !== null)
    conditions.push(sql`m.stream_id = (
      SELECT s.id FROM streams s
      WHERE s.environment_id = ${environmentId} AND s.session_id = ${sessionId} AND s.name = ${stream})`);
  if (isOpen) conditions.push(sql`m.status = 'open'`);
  if (after !== null)
    conditions.push(sql`(m.created_at, m.id) < (${timestamp(after.createdAt)}, ${after.id}::uuid)`);
  return db.query<MessageRow>(sql`
    SELECT ${COLUMNS} FROM messages m
    JOIN streams t ON t.environment_id = m.environment_id AND t.id = m.stream_id
    WHERE ${joinSql(conditions, " AND ")}
    ORDER BY m.created_at DESC, m.id DESC LIMIT ${limit}`);
}

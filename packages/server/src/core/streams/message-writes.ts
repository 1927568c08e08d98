import { LIMITS, MESSAGE_CONTENT_TYPE, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { EndedMessage, MessageKey, NewMessage } from "./message.ts";
import { partsOf } from "./message-reads.ts";

/** Whoever uses the id of another's message writes no row of theirs. */
export async function insertMessages(tx: Tx, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const of = <T>(pick: (message: NewMessage) => T): T[] => messages.map(pick);
  await tx.send(sql`
    INSERT INTO messages (environment_id, id, session_id, stream_id, run_id, attempt_number, epoch, status, correlation_id,
      call, spans, first_sequence, created_at)
    SELECT environment_id, id, session_id, stream_id, run_id, attempt_number, epoch, 'open', correlation_id, call, spans, first_sequence,
      to_timestamp(at / 1000)
    FROM unnest(
      ${of((one) => one.environmentId)}::uuid[], ${of((one) => one.id)}::uuid[], ${of((one) => one.sessionId)}::uuid[],
      ${of((one) => one.streamId)}::uuid[], ${of((one) => one.runId)}::uuid[], ${of((one) => one.attemptNumber)}::integer[],
      ${of((one) => one.epoch)}::integer[], ${of((one) => one.correlationId)}::text[], ${of((one) => one.call)}::text[],
      ${of((one) => one.spans)}::boolean[], ${of((one) => one.firstSequence)}::bigint[], ${of((one) => one.at)}::float8[]
    ) AS n (environment_id, id, session_id, stream_id, run_id, attempt_number, epoch, correlation_id, call, spans, first_sequence, at)
    ON CONFLICT (environment_id, id) DO NOTHING`);
}

/**
 * Ends open messages of these runs, and keeps what they are to keep, or all their pieces that count as one text, or as a list where they
 * are no texts.
 */
export async function endMessages(tx: Tx, ended: readonly EndedMessage[]): Promise<void> {
  if (ended.length === 0) return;
  await tx.send(sql`
    UPDATE messages m SET status = e.status, last_sequence = e.last_sequence, ended_at = to_timestamp(e.at / 1000),
      data = coalesce(e.data, (
        SELECT CASE
            WHEN sum(octet_length(r.data)) > ${LIMITS.journalValueBytes} THEN NULL
            WHEN bool_and(r.data LIKE '"%') THEN to_json(string_agg(r.data::json #>> '{}', '' ORDER BY r.sequence))::text
            ELSE '[' || string_agg(r.data, ',' ORDER BY r.sequence) || ']'
          END
        FROM stream_records r
        WHERE r.environment_id = m.environment_id AND r.stream_id = m.stream_id
          AND r.sequence BETWEEN m.first_sequence AND e.last_sequence AND r.message_id = m.id
          AND r.content_type IS DISTINCT FROM ${MESSAGE_CONTENT_TYPE}
          AND NOT (m.spans AND EXISTS (
            SELECT FROM (${partsOf(sql`m.environment_id`, sql`m.id`)}) p
            WHERE p.void AND r.sequence BETWEEN p.first_sequence AND coalesce(p.last_sequence, e.last_sequence)))))
    FROM unnest(
      ${ended.map((one) => one.environmentId)}::uuid[], ${ended.map((one) => one.id)}::uuid[],
      ${ended.map((one) => one.runId)}::uuid[], ${ended.map((one) => one.status)}::text[], ${ended.map((one) => one.lastSequence)}::bigint[],
      ${ended.map((one) => one.at)}::float8[], ${ended.map((one) => one.data)}::text[]
    ) AS e (environment_id, id, run_id, status, last_sequence, at, data)
    WHERE m.environment_id = e.environment_id AND m.id = e.id AND m.run_id = e.run_id AND m.status = 'open'`);
  await deleteParts(
    tx,
    ended.filter(({ spans }) => spans),
  );
}

/** Of messages that have ended. */
async function deleteParts(tx: Tx, messages: readonly MessageKey[]): Promise<void> {
  if (messages.length === 0) return;
  await tx.send(sql`
    DELETE FROM message_parts p
    USING unnest(${messages.map((one) => one.environmentId)}::uuid[], ${messages.map((one) => one.id)}::uuid[]) AS k (environment_id, id)
    WHERE p.environment_id = k.environment_id AND p.message_id = k.id`);
}

export async function insertParts(
  tx: Tx,
  parts: readonly (MessageKey & { call: string; firstSequence: number })[],
): Promise<void> {
  if (parts.length === 0) return;
  await tx.send(sql`
    INSERT INTO message_parts (environment_id, message_id, call, first_sequence)
    SELECT * FROM unnest(
      ${parts.map((part) => part.environmentId)}::uuid[], ${parts.map((part) => part.id)}::uuid[],
      ${parts.map((part) => part.call)}::text[], ${parts.map((part) => part.firstSequence)}::bigint[])`);
}

export async function voidParts(
  tx: Tx,
  parts: readonly (MessageKey & { firstSequence: number })[],
): Promise<void> {
  if (parts.length === 0) return;
  await tx.send(sql`
    UPDATE message_parts p SET void = true
    FROM unnest(
      ${parts.map((part) => part.environmentId)}::uuid[], ${parts.map((part) => part.id)}::uuid[],
      ${parts.map((part) => part.firstSequence)}::bigint[]) AS k (environment_id, id, first_sequence)
    WHERE p.environment_id = k.environment_id AND p.message_id = k.id AND p.first_sequence = k.first_sequence`);
}

/** @returns what is to be ended; null when it has ended. */
export async function markInterrupted(
  tx: Tx,
  { environmentId, id }: MessageKey,
  now: number,
): Promise<{ runId: Uuid<"run">; epoch: number; spans: boolean } | null> {
  const [row] = await tx.query<{ runId: Uuid<"run">; epoch: number; spans: boolean }>(sql`
    UPDATE messages SET interrupt_requested_at = coalesce(interrupt_requested_at, ${timestamp(now)})
    WHERE environment_id = ${environmentId} AND id = ${id} AND status = 'open'
    RETURNING run_id, epoch, spans`);
  return row ?? null;
}

/** From now on pieces of these streams are taken only for messages that are open. */
export async function fenceStreams(
  tx: Tx,
  streams: readonly { environmentId: Uuid<"env">; streamId: Uuid<"strm"> }[],
): Promise<void> {
  await tx.send(sql`
    UPDATE streams t SET fenced = true
    FROM unnest(${streams.map((one) => one.environmentId)}::uuid[], ${streams.map((one) => one.streamId)}::uuid[])
      AS k (environment_id, id)
    WHERE t.environment_id = k.environment_id AND t.id = k.id AND NOT t.fenced`);
}

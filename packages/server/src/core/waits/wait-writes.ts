import type { WaitStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { NewWait, WaitKey } from "./wait.ts";

export async function insertWaits(tx: Tx, waits: readonly NewWait[]): Promise<void> {
  await tx.send(sql`
    INSERT INTO run_waits (environment_id, run_id, position, place, id, name, kind, status, token_id, stream_id, record_sequence,
      child_run_id, message_id, timeout_at, created_at, settled_at)
    SELECT environment_id, run_id, position, place, id, name, kind, status, token_id, stream_id, record_sequence, child_run_id,
      message_id, to_timestamp(timeout_at / 1000), to_timestamp(at / 1000), CASE WHEN status <> 'pending' THEN to_timestamp(at / 1000) END
    FROM unnest(
      ${waits.map((w) => w.environmentId)}::uuid[], ${waits.map((w) => w.runId)}::uuid[], ${waits.map((w) => w.position)}::integer[],
      ${waits.map((w) => w.place)}::integer[], ${waits.map((w) => w.id)}::uuid[], ${waits.map((w) => w.name)}::text[], ${waits.map((w) => w.kind)}::text[],
      ${waits.map((w) => w.status)}::text[], ${waits.map((w) => w.tokenId)}::uuid[], ${waits.map((w) => w.streamId)}::uuid[],
      ${waits.map((w) => w.recordSequence)}::integer[], ${waits.map((w) => w.childRunId)}::uuid[],
      ${waits.map((w) => w.messageId)}::uuid[],
      ${waits.map((w) => w.timeoutAt)}::float8[], ${waits.map((w) => w.at)}::float8[]
    ) AS w (environment_id, run_id, position, place, id, name, kind, status, token_id, stream_id, record_sequence, child_run_id,
      message_id, timeout_at, at)
    ON CONFLICT (environment_id, run_id, position) DO NOTHING`);
}

/** `withoutRecord`: the session takes no more input, so the wait has resolved to nothing. */
export type WaitSettlement = WaitKey & { status: Exclude<WaitStatus, "pending">; withoutRecord: boolean };

export async function markSettled(
  tx: Tx,
  settlements: readonly WaitSettlement[],
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE run_waits w SET status = k.status, settled_at = ${timestamp(now)},
      record_sequence = CASE WHEN k.without_record THEN NULL ELSE w.record_sequence END
    FROM unnest(${settlements.map((w) => w.environmentId)}::uuid[], ${settlements.map((w) => w.runId)}::uuid[],
      ${settlements.map((w) => w.position)}::integer[], ${settlements.map((w) => w.status)}::text[],
      ${settlements.map((w) => w.withoutRecord)}::boolean[]) AS k (environment_id, run_id, position, status, without_record)
    WHERE w.environment_id = k.environment_id AND w.run_id = k.run_id AND w.position = k.position`);
}

/**
 * Waits of a run for input of one stream take its records in their order. What one was for that has settled without it is for the one
 * after it, and so on: else the record would come for nobody, and be passed over with the next one. `waits` are those that have settled so.
 */
export async function passSequencesOn(tx: Tx, waits: readonly WaitKey[]): Promise<void> {
  await tx.send(sql`
    WITH freed AS (
      SELECT w.environment_id, w.run_id, w.stream_id, w.record_sequence
      FROM unnest(${waits.map((w) => w.environmentId)}::uuid[], ${waits.map((w) => w.runId)}::uuid[], ${waits.map((w) => w.position)}::integer[])
          AS k (environment_id, run_id, position)
        JOIN run_waits w ON w.environment_id = k.environment_id AND w.run_id = k.run_id AND w.position = k.position
        JOIN streams s ON s.environment_id = w.environment_id AND s.id = w.stream_id
      WHERE w.kind = 'input' AND w.status IN ('timed_out', 'cancelled') AND w.record_sequence > s.received_sequence
    ), held AS (
      SELECT w.environment_id, w.run_id, w.position, w.stream_id, w.record_sequence
      FROM (SELECT environment_id, run_id, stream_id, min(record_sequence) AS first FROM freed GROUP BY 1, 2, 3) f
        JOIN run_waits w ON w.environment_id = f.environment_id AND w.run_id = f.run_id
      WHERE w.stream_id = f.stream_id AND w.kind = 'input' AND w.status = 'pending' AND w.record_sequence > f.first
    ), places AS (
      SELECT *, row_number() OVER (PARTITION BY environment_id, run_id, stream_id ORDER BY record_sequence) AS n
      FROM (
        SELECT environment_id, run_id, stream_id, record_sequence FROM freed
        UNION SELECT environment_id, run_id, stream_id, record_sequence FROM held
      ) p
    ), queue AS (
      SELECT *, row_number() OVER (PARTITION BY environment_id, run_id, stream_id ORDER BY record_sequence) AS n FROM held
    )
    UPDATE run_waits w SET record_sequence = p.record_sequence
    FROM queue q JOIN places p ON p.environment_id = q.environment_id AND p.run_id = q.run_id AND p.stream_id = q.stream_id AND p.n = q.n
    WHERE w.environment_id = q.environment_id AND w.run_id = q.run_id AND w.position = q.position`);
}

/** The journals of their runs have these outcomes now. */
export async function markAccepted(tx: Tx, waits: readonly WaitKey[]): Promise<void> {
  await tx.send(sql`
    UPDATE run_waits w SET accepted = true
    FROM unnest(${waits.map((w) => w.environmentId)}::uuid[], ${waits.map((w) => w.runId)}::uuid[], ${waits.map((w) => w.position)}::integer[])
      AS k (environment_id, run_id, position)
    WHERE w.environment_id = k.environment_id AND w.run_id = k.run_id AND w.position = k.position`);
}

export type ReceivedRecord = { environmentId: Uuid<"env">; streamId: Uuid<"strm">; sequence: number };

/** How far the runs of a session have received a stream. */
export async function moveReceived(tx: Tx, received: readonly ReceivedRecord[]): Promise<void> {
  await tx.send(sql`
    UPDATE streams s SET received_sequence = greatest(s.received_sequence, k.sequence)
    FROM (
      SELECT environment_id, stream_id, max(sequence) AS sequence
      FROM unnest(${received.map((r) => r.environmentId)}::uuid[], ${received.map((r) => r.streamId)}::uuid[],
        ${received.map((r) => r.sequence)}::integer[]) AS r (environment_id, stream_id, sequence)
      GROUP BY environment_id, stream_id
    ) k
    WHERE s.environment_id = k.environment_id AND s.id = k.stream_id`);
}

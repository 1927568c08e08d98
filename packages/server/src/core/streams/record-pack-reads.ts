import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { RecordRange } from "./stream-reads.ts";

export type PackedStream = { environmentId: Uuid<"env">; streamId: Uuid<"strm"> };

/** The first pack that has a record after the sequence; with a correlation id, of those that have one of it. */
export async function findRecordPack(
  db: Queryable,
  { environmentId, streamId, correlationId }: RecordRange,
  after: number,
): Promise<{ lastSequence: number; data: Buffer } | null> {
  const wanted = correlationId === null ? null : [correlationId];
  const [row] = await db.query<{ lastSequence: number; data: Buffer }>(sql`
    SELECT last_sequence, data FROM record_packs
    WHERE environment_id = ${environmentId} AND stream_id = ${streamId} AND last_sequence > ${after}
      AND first_sequence >= coalesce((
        -- Packs do not overlap: the last one that begins before the next record has it, or nobody has.
        SELECT p.first_sequence FROM record_packs p
        WHERE p.environment_id = ${environmentId} AND p.stream_id = ${streamId} AND p.first_sequence <= ${after}::bigint + 1
        ORDER BY p.first_sequence DESC LIMIT 1), 0)
      AND (${wanted}::text[] IS NULL OR correlation_ids && ${wanted}::text[])
    ORDER BY first_sequence LIMIT 1`);
  return row ?? null;
}

/** Whether the servers that know of rows alone have had their time. */
export async function mayPackRecords(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`SELECT FROM record_packing WHERE begins_at <= ${timestamp(now)}`);
  return rows.length === 1;
}

/**
 * Of the next `page` streams after the key those with so many records that are in no pack, and the last one in any case, so
 * that the next page is after it.
 */
export function listStreamsToPack(
  db: Queryable,
  after: PackedStream,
  records: number,
  page: number,
): Promise<(PackedStream & { isDue: boolean })[]> {
  return db.query(sql`
    WITH page AS (
      SELECT environment_id, id, row_number() OVER (ORDER BY environment_id, id) AS position, count(*) OVER () AS streams,
        direction = 'output' AND last_sequence - greatest(packed_sequence, kept_after) > ${records} AS is_due
      FROM (
        SELECT * FROM streams WHERE (environment_id, id) > (${after.environmentId}::uuid, ${after.streamId}::uuid)
        ORDER BY environment_id, id LIMIT ${page}
      ) s
    )
    SELECT environment_id, id AS stream_id, is_due FROM page
    WHERE is_due OR position = streams ORDER BY environment_id, id`);
}

/** Where the next pack of a stream begins, and the sequence that none of its records may reach. */
export async function findPlaceToPack(
  db: Queryable,
  { environmentId, streamId }: PackedStream,
): Promise<{ packedSequence: number; after: number; before: number } | null> {
  const [row] = await db.query<{ packedSequence: number; after: number; before: number }>(sql`
    SELECT t.packed_sequence, greatest(t.packed_sequence, t.kept_after) AS after,
      -- The pieces of a message that is being written are read once more at its end.
      least(t.last_sequence, (
        SELECT min(m.first_sequence) FROM messages m
        WHERE m.environment_id = t.environment_id AND m.session_id = t.session_id AND m.stream_id = t.id AND m.status = 'open')) AS before
    FROM streams t WHERE t.environment_id = ${environmentId} AND t.id = ${streamId} AND t.direction = 'output'`);
  return row ?? null;
}

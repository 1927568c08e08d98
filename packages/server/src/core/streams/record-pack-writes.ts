import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { PackedStream } from "./record-pack-reads.ts";

export type NewRecordPack = PackedStream & {
  /** How far the stream was packed when its records were read. */
  packedSequence: number;
  firstSequence: number;
  lastSequence: number;
  correlationIds: readonly string[];
  data: Buffer;
};

/**
 * Takes the records of a pack out of their rows. The stream is locked first, as by all who write to it.
 *
 * @returns how many there were; null when another server was faster or what it begins with is no longer kept.
 */
export async function movePackedRecords(tx: Tx, pack: NewRecordPack): Promise<number | null> {
  const { environmentId, streamId, firstSequence, lastSequence } = pack;
  const moved = await tx.query(sql`
    UPDATE streams SET packed_sequence = ${lastSequence}
    WHERE environment_id = ${environmentId} AND id = ${streamId} AND packed_sequence = ${pack.packedSequence}
      AND kept_after < ${firstSequence} AND last_sequence > ${lastSequence}
    RETURNING 1 AS moved`);
  if (moved.length === 0) return null;
  const [row] = await tx.query<{ count: number }>(sql`
    WITH gone AS (
      DELETE FROM stream_records WHERE environment_id = ${environmentId} AND stream_id = ${streamId}
        AND sequence BETWEEN ${firstSequence} AND ${lastSequence}
      RETURNING length(data) AS bytes
    ), counted AS (
      SELECT count(*) AS count, coalesce(sum(bytes), 0)::integer AS bytes FROM gone
    ), packed AS (
      INSERT INTO record_packs (environment_id, stream_id, first_sequence, last_sequence, correlation_ids, counted_bytes, data)
      SELECT ${environmentId}::uuid, ${streamId}::uuid, ${firstSequence}::integer, ${lastSequence}::integer,
        ${pack.correlationIds}::text[], bytes, ${pack.data}::bytea
      FROM counted
    )
    SELECT count FROM counted`);
  return row?.count ?? 0;
}

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** The record stays with its number and loses its data. The stream is locked. */
export async function markWithdrawn(
  tx: Tx,
  environmentId: Uuid<"env">,
  streamId: Uuid<"strm">,
  { sequence, withdrawnSequences }: { sequence: number; withdrawnSequences: readonly number[] },
  now: number,
): Promise<void> {
  await tx.send(sql`
    WITH noted AS (
      UPDATE streams SET withdrawn_sequences = ${withdrawnSequences}::integer[]
      WHERE environment_id = ${environmentId} AND id = ${streamId}
    )
    UPDATE stream_records SET data = 'null', withdrawn_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND stream_id = ${streamId} AND sequence = ${sequence}`);
}

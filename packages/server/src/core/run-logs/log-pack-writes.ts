import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type LogPackInsert = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  firstSequence: number;
  lastSequence: number;
  digest: Buffer;
};

/** Takes the chunks of a pack out of the rows: from now on its blob is what is stored. @returns how many there were. */
export async function deletePackedChunks(tx: Tx, pack: LogPackInsert): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    WITH gone AS (
      DELETE FROM run_logs WHERE environment_id = ${pack.environmentId} AND run_id = ${pack.runId}
        AND sequence BETWEEN ${pack.firstSequence} AND ${pack.lastSequence}
      RETURNING length(data) AS bytes
    ), freed AS (
      UPDATE stored_bytes s SET bytes = greatest(0, s.bytes - g.bytes)
      FROM (SELECT sum(bytes)::bigint AS bytes FROM gone) g
      WHERE s.environment_id = ${pack.environmentId} AND g.bytes > 0
    )
    SELECT count(*) AS count FROM gone`);
  return row?.count ?? 0;
}

/**
 * False when the blob is not there, or is being removed. Its row is locked before it is believed: a removal that begins
 * later waits for this transaction and then finds the need.
 */
export async function insertLogPack(tx: Tx, pack: LogPackInsert): Promise<boolean> {
  const rows = await tx.query(sql`
    WITH held AS (
      SELECT b.environment_id, b.digest FROM blobs b
      WHERE b.environment_id = ${pack.environmentId} AND b.digest = ${pack.digest}
        AND b.size_bytes IS NOT NULL AND b.removing_since IS NULL
      FOR SHARE
    )
    INSERT INTO run_log_packs (environment_id, run_id, first_sequence, last_sequence, digest)
    SELECT environment_id, ${pack.runId}::uuid, ${pack.firstSequence}::integer, ${pack.lastSequence}::integer, digest FROM held
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

/** Claims packing for a while, so that servers do not do the same work; what is right does not depend on it. */
export async function claimPacking(
  db: Queryable,
  claimId: string,
  now: number,
  untilMs: number,
): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE log_packing SET claim_id = ${claimId}, claimed_until = ${timestamp(untilMs)}
    WHERE claim_id = ${claimId} OR claimed_until IS NULL OR claimed_until < ${timestamp(now)}
    RETURNING 1 AS claimed`);
  return rows.length === 1;
}

export async function releasePacking(db: Queryable, claimId: string): Promise<void> {
  await db.query(sql`
    UPDATE log_packing SET claim_id = NULL, claimed_until = NULL WHERE claim_id = ${claimId}`);
}

/** The run's logs are packed: the next are those that ended after it. */
export async function advancePacking(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<void> {
  await db.query(sql`
    UPDATE log_packing p SET finished_at = x.finished_at, environment_id = x.environment_id, run_id = x.run_id
    FROM run_results x
    WHERE x.environment_id = ${environmentId} AND x.run_id = ${runId}
      AND (x.finished_at, x.environment_id, x.run_id) > (p.finished_at, p.environment_id, p.run_id)`);
}

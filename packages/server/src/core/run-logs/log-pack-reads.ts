import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type LogPackRow = { digest: Buffer; firstSequence: number; lastSequence: number };

/** The pack that has the first chunk after the cursor, or the first one after it. */
export async function findLogPackAfter(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  after: number,
): Promise<LogPackRow | null> {
  // Packs of a run do not overlap: the last one that begins before the chunk has it, or nobody has.
  const [row] = await db.query<LogPackRow>(sql`
    SELECT digest, first_sequence, last_sequence FROM run_log_packs
    WHERE environment_id = ${environmentId} AND run_id = ${runId} AND first_sequence <= ${after}::bigint + 1 AND last_sequence > ${after}
    ORDER BY first_sequence DESC LIMIT 1`);
  return row ?? null;
}

/** The pack with the last chunks before the sequence. */
export async function findLogPackBefore(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  before: number,
): Promise<LogPackRow | null> {
  const [row] = await db.query<LogPackRow>(sql`
    SELECT digest, first_sequence, last_sequence FROM run_log_packs
    WHERE environment_id = ${environmentId} AND run_id = ${runId} AND first_sequence < ${before}
    ORDER BY first_sequence DESC LIMIT 1`);
  return row ?? null;
}

/** Ended runs whose logs are to be packed next, of all environments. */
export function listRunsToPack(
  db: Queryable,
  endedBefore: number,
  limit: number,
): Promise<{ environmentId: Uuid<"env">; runId: Uuid<"run"> }[]> {
  return db.query(sql`
    SELECT x.environment_id, x.run_id
    FROM log_packing p JOIN run_results x
      ON (x.finished_at, x.environment_id, x.run_id) > (p.finished_at, p.environment_id, p.run_id)
    WHERE x.stdout_bytes + x.stderr_bytes >= 16384 AND x.finished_at < ${timestamp(endedBefore)}
    ORDER BY x.finished_at, x.environment_id, x.run_id LIMIT ${limit}`);
}

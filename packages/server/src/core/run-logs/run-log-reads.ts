import type { LogStream, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type LogChunkRow = {
  sequence: number;
  attemptNumber: number;
  stream: LogStream;
  data: Buffer;
  at: number;
};

/** Chunks in rows after the cursor, oldest first: at most `limit`, and no more after the one that reaches `maxBytes`. */
export function listLogChunks(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  after: number,
  limit: number,
  maxBytes: number,
): Promise<LogChunkRow[]> {
  return db.query<LogChunkRow>(sql`
    SELECT sequence, attempt_number, stream, data, at
    FROM (
      SELECT *, sum(octet_length(data)) OVER (ORDER BY sequence) - octet_length(data) AS bytes_before
      FROM (
        SELECT * FROM run_logs
        WHERE environment_id = ${environmentId} AND run_id = ${runId} AND sequence > ${after}
        ORDER BY sequence LIMIT ${limit}
      ) page
    ) sized
    WHERE bytes_before < ${maxBytes}
    ORDER BY sequence`);
}

export type LogTotals = { logSequence: number; stdoutBytes: number; stderrBytes: number };

export async function findLogTotals(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<LogTotals | null> {
  const [row] = await db.query<LogTotals>(sql`
    SELECT coalesce(x.log_sequence, e.log_sequence) AS log_sequence, coalesce(x.stdout_bytes, e.stdout_bytes) AS stdout_bytes,
      coalesce(x.stderr_bytes, e.stderr_bytes) AS stderr_bytes
    FROM runs r
    LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
    LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id
    WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}

/** How many chunks are read at a time on the way back from the end; a chunk holds at most 64 KiB. */
const TAIL_PAGE = 64;

/** Chunks of one stream before the sequence, newest first. */
export async function listTailChunks(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  stream: LogStream,
  before: number,
): Promise<{ rows: { sequence: number; data: Buffer }[]; isLast: boolean }> {
  const rows = await db.query<{ sequence: number; data: Buffer }>(sql`
    SELECT sequence, data FROM run_logs
    WHERE environment_id = ${environmentId} AND run_id = ${runId} AND sequence < ${before} AND stream = ${stream}
    ORDER BY sequence DESC LIMIT ${TAIL_PAGE}`);
  return { rows, isLast: rows.length < TAIL_PAGE };
}

import assert from "node:assert/strict";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../server/src/db/sql.ts";
import type { ApiServer } from "../../../server/test/support/api-server.ts";
import type { HeldLease, RawWorker } from "../../../server/test/support/raw-worker.ts";

const AT = "2026-11-20T09:15:00.123Z";

/** What one chunk may have. */
const CHUNK_BYTES = 64 * 1024;

/** Chunks of a log as a worker reports them, whatever the length. */
export function logChunks(
  ...texts: (string | readonly ["stderr" | "stdout", string | Uint8Array])[]
): object[] {
  return texts.flatMap((text) => {
    const [stream, data] = typeof text === "string" ? ["stdout", text] : text;
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data);
    return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) => ({
      stream,
      data: bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES).toString("base64"),
      at: AT,
    }));
  });
}

/** A worker's words on a run that it has. All must be taken. */
export async function say(
  worker: RawWorker,
  lease: HeldLease,
  { logs = [], events = [] }: { logs?: object[]; events?: object[] },
): Promise<void> {
  const operations = [
    ...(logs.length > 0 ? [lease.operation("logs", { chunks: logs })] : []),
    ...(events.length > 0
      ? [lease.operation("events", { events: events.map((event) => ({ at: AT, ...event })) })]
      : []),
  ];
  assert.deepEqual(
    await worker.report(...operations),
    operations.map(() => 200),
  );
}

/** Gives an ended run a log of so many lines, `line 0` to the last, in chunks of a thousand, written at once. */
export async function fillLog(server: ApiServer, runId: string, lines: number): Promise<number> {
  const id = decodeId("run", runId);
  const chunks = lines / 1000;
  await server.db.query(sql`
    INSERT INTO run_logs (environment_id, run_id, sequence, attempt_number, stream, data, at)
    SELECT environment_id, run_id, chunk, 1, 'stdout', convert_to((
      SELECT string_agg('line ' || n || ' of a long log' || E'\n', '' ORDER BY n)
      FROM generate_series((chunk - 1) * 1000, chunk * 1000 - 1) AS n), 'UTF8'), finished_at
    FROM run_results CROSS JOIN generate_series(1, ${chunks}::integer) AS chunk WHERE run_id = ${id}`);
  const [row] = await server.db.query<{ bytes: number }>(sql`
    UPDATE run_results SET log_sequence = ${chunks}, stdout_bytes = (
      SELECT sum(length(data)) FROM run_logs l
      WHERE l.environment_id = run_results.environment_id AND l.run_id = run_results.run_id)
    WHERE run_id = ${id} RETURNING stdout_bytes AS bytes`);
  return Number(row?.bytes);
}

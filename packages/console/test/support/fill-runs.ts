import { sql } from "../../../server/src/db/sql.ts";
import { decodeId } from "@keelson/contract";
import type { ApiServer } from "../../../server/test/support/api-server.ts";

/** So many ended runs more, like the given one but older, written at once. Newest first, they end in 0, 1, 2, … */
export async function fillRuns(server: ApiServer, like: string, count: number): Promise<void> {
  const id = decodeId("run", like);
  const base = Date.parse("2025-01-01T00:00:00Z");
  const numbered = sql`
    SELECT r.*, n, (lpad(to_hex(${base}::bigint - n), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid AS new_id,
      to_timestamp((${base}::bigint - n) / 1000.0) AS at
    FROM runs r CROSS JOIN generate_series(0, ${count - 1}::bigint) AS n WHERE r.id = ${id}`;
  await server.db.query(sql`
    INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version,
      tags, queue, priority, retry, created_at)
    SELECT environment_id, new_id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version,
      ARRAY['n' || n], queue, priority, retry, at FROM (${numbered}) AS numbered`);
  await server.db.query(sql`
    INSERT INTO run_results (environment_id, run_id, status, attempt_number, started_at, finished_at, epoch,
      applied_sequence, log_sequence, stdout_bytes, stderr_bytes, event_sequence)
    SELECT environment_id, new_id, CASE n % 5 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 1, at, at + interval '1 second',
      1, 1, 0, 0, 0, 0 FROM (${numbered}) AS numbered`);
  await server.db.query(sql`ANALYZE runs, run_results`);
}

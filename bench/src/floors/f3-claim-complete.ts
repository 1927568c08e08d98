import { openPool } from "../harness/postgres.ts";
import { ENVIRONMENT_ID, PAYLOAD } from "./insert-table.ts";

const BATCH = 50;

/**
 * F3: jobs a second that one caller drains from a backlog, 50 at a time, with two durable statements a batch:
 * claim (SKIP LOCKED, oldest first, marked as running) and complete (marked as succeeded, by the array of ids).
 * The table has the one partial index that finds what is queued. Nothing runs between the two.
 */
export async function measureClaimComplete(url: string, jobs: number): Promise<number> {
  const pool = await openPool(url, 1);
  try {
    await pool.query("DROP TABLE IF EXISTS floor_jobs");
    await pool.query(
      `CREATE TABLE floor_jobs (id uuid PRIMARY KEY DEFAULT uuidv7(), environment_id uuid NOT NULL, payload text NOT NULL, status text NOT NULL DEFAULT 'queued', created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, finished_at timestamptz)`,
    );
    await pool.query(`CREATE INDEX floor_jobs_queued ON floor_jobs (id) WHERE status = 'queued'`);
    await pool.query(
      "INSERT INTO floor_jobs (environment_id, payload) SELECT $1, $2 FROM generate_series(1, $3::int)",
      [ENVIRONMENT_ID, PAYLOAD, jobs],
    );
    await pool.query("ANALYZE floor_jobs");

    const startedAt = performance.now();
    let done = 0;
    for (;;) {
      const { rows } = await pool.query<{ id: string; payload: string }>({
        name: "claim",
        text: `UPDATE floor_jobs SET status = 'running', started_at = now()
               WHERE id IN (SELECT id FROM floor_jobs WHERE status = 'queued' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
               RETURNING id, payload`,
        values: [BATCH],
      });
      if (rows.length === 0) break;
      const completed = await pool.query({
        name: "complete",
        text: `UPDATE floor_jobs SET status = 'succeeded', finished_at = now() WHERE id = ANY ($1::uuid[])`,
        values: [rows.map((row) => row.id)],
      });
      done += completed.rowCount ?? 0;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    if (done !== jobs) throw new Error(`F3 completed ${done} of ${jobs} jobs`);
    return jobs / seconds;
  } finally {
    await pool.end();
  }
}

import { randomUUID } from "node:crypto";
import { openPool } from "../harness/postgres.ts";
import { runCallers } from "../harness/run-callers.ts";
import { ENVIRONMENT_ID, PAYLOAD, resetTable } from "./insert-table.ts";

const CALLERS = 4;
const ROWS = 100;

/** F2: rows a second that 4 callers insert durably, 100 rows a statement by `unnest`. */
export async function measureBatchInserts(url: string, durationMs: number): Promise<number> {
  const pool = await openPool(url, CALLERS);
  const payloads = Array.from({ length: ROWS }, () => PAYLOAD);
  const insert = async (): Promise<void> => {
    await pool.query({
      name: "insert_many",
      text: "INSERT INTO floor_inserts (id, environment_id, payload, created_at) SELECT id, $2, payload, now() FROM unnest($1::uuid[], $3::text[]) AS rows (id, payload)",
      values: [Array.from({ length: ROWS }, () => randomUUID()), ENVIRONMENT_ID, payloads],
    });
  };
  try {
    await resetTable(pool);
    await runCallers(CALLERS, 300, insert);
    return ROWS * (await runCallers(CALLERS, durationMs, insert));
  } finally {
    await pool.end();
  }
}

import { randomUUID } from "node:crypto";
import { openPool } from "../harness/postgres.ts";
import { percentile } from "../harness/statistics.ts";
import { runCallers } from "../harness/run-callers.ts";
import { ENVIRONMENT_ID, PAYLOAD, resetTable } from "./insert-table.ts";

const INSERT = {
  name: "insert_one",
  text: "INSERT INTO floor_inserts (id, environment_id, payload, created_at) VALUES ($1, $2, $3, now())",
};

/** F1: durable inserts of one row a second, by 16 callers with a connection each. */
export function measureSingleInserts(url: string, durationMs: number): Promise<number> {
  return withPool(url, 16, async (insert) => {
    await runCallers(16, 300, insert);
    return runCallers(16, durationMs, insert);
  });
}

/** F5: how long one durable insert takes a lone caller, p50 in milliseconds. */
export function measureInsertLatency(url: string, samples: number): Promise<number> {
  return withPool(url, 1, async (insert) => {
    const latencies: number[] = [];
    for (let i = 0; i < samples + 50; i += 1) {
      const from = performance.now();
      await insert();
      if (i >= 50) latencies.push(performance.now() - from);
    }
    return percentile(latencies, 0.5);
  });
}

async function withPool<T>(
  url: string,
  size: number,
  measure: (insert: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const pool = await openPool(url, size);
  try {
    await resetTable(pool);
    return await measure(async () => {
      await pool.query({ ...INSERT, values: [randomUUID(), ENVIRONMENT_ID, PAYLOAD] });
    });
  } finally {
    await pool.end();
  }
}

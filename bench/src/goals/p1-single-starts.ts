import { Client } from "pg";
import { CONNECTIONS, START_BODY } from "../floors/f4-bare-http.ts";
import { runHttpLoad, type HttpLoad, type HttpLoadResult } from "../harness/http-load.ts";
import type { Keelson } from "../ours/keelson.ts";

/**
 * P1 and P2: single starts over HTTP on 64 kept-alive connections with a real API key. Afterwards the database must
 * hold exactly the acknowledged runs, each with its events; otherwise the figure does not count.
 */
export async function measureSingleStarts(
  keelson: Keelson,
  databaseUrl: string,
  durationMs: number,
  ratePerSecond?: number,
): Promise<HttpLoadResult> {
  const load: HttpLoad = {
    port: keelson.port,
    path: "/v1/tasks/noop/start",
    headers: { authorization: `Bearer ${keelson.apiKey}` },
    body: START_BODY,
    connections: CONNECTIONS,
    durationMs,
    ...(ratePerSecond !== undefined && { ratePerSecond }),
  };
  await runHttpLoad({ ...load, durationMs: 1_000 });
  return countingRuns(databaseUrl, 1, () => runHttpLoad(load));
}

/** P3: starts a second by requests of 500, on 4 connections. */
export async function measureBatchStarts(
  keelson: Keelson,
  databaseUrl: string,
  durationMs: number,
): Promise<number> {
  const { payload } = JSON.parse(START_BODY) as { payload: unknown };
  const load: HttpLoad = {
    port: keelson.port,
    path: "/v1/tasks/start-batch",
    headers: { authorization: `Bearer ${keelson.apiKey}` },
    body: JSON.stringify({ starts: Array.from({ length: 500 }, () => ({ task: "noop", payload })) }),
    connections: 4,
    durationMs,
  };
  await runHttpLoad({ ...load, durationMs: 500 });
  const { perSecond } = await countingRuns(databaseUrl, 500, () => runHttpLoad(load));
  return perSecond * 500;
}

async function countingRuns(
  databaseUrl: string,
  runsPerRequest: number,
  load: () => Promise<HttpLoadResult>,
): Promise<HttpLoadResult> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const before = await countWholeRuns(client);
    const result = await load();
    const stored = (await countWholeRuns(client)) - before;
    const expected = result.acknowledged * runsPerRequest;
    if (stored !== expected)
      throw new Error(`${expected} starts were acknowledged, and ${stored} whole runs are stored`);
    return result;
  } finally {
    await client.end();
  }
}

async function countWholeRuns(client: Client): Promise<number> {
  const { rows } = await client.query<{ runs: number }>(
    `SELECT count(*)::int AS runs FROM runs
     WHERE EXISTS (SELECT FROM executions e WHERE e.environment_id = runs.environment_id AND e.run_id = runs.id)
       OR EXISTS (SELECT FROM run_results x WHERE x.environment_id = runs.environment_id AND x.run_id = runs.id)`,
  );
  return rows[0]?.runs ?? 0;
}

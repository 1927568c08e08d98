// A search in a million ended runs; `npm test` has fewer. The numbers are printed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseRunSearch, type Uuid } from "@keelson/contract";
import { indexRuns } from "../../src/core/run-search/index-runs.ts";
import { siftRuns } from "../../src/core/run-search/sift-runs.ts";
import { ALL_RUNS, type RunFilter } from "../../src/core/runs/run-filter.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { isLong } from "../support/seeded-random.ts";
import { startSearchScene, type SearchScene } from "../support/searched-runs.ts";

const RUNS = isLong() ? 1_000_000 : 20_000;
const OTHERS = RUNS / 10;

let scene: SearchScene;
before(async () => {
  scene = await startSearchScene();
});
after(() => scene.stop());

/** The word `everybody` is in all of them, `often` in half, `seldom` in one of 100,000, and a customer in one of 1,000. */
const fillRuns = (environmentId: Uuid<"env">, count: number, endMs: number): string => `
  INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
    metadata, queue, priority, retry, created_at)
  SELECT '${environmentId}', encode(decode(lpad(to_hex(${endMs}::bigint - (${count} - n) * 500), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'), 'hex'), 'hex')::uuid,
    gen_random_uuid(), 'task', 'report-' || n % 20, gen_random_uuid(), 'v1',
    json_build_object('customer', 'customer-' || n % 1000, 'order', md5(n::text), 'note', 'everybody ' ||
      CASE WHEN n % 2 = 0 THEN 'often' ELSE 'never' END || CASE WHEN n % 100000 = 77 THEN ' seldom' ELSE '' END,
      'items', json_build_array('pen', 'paper', n % 7, 'sent to street ' || n % 500))::text,
    CASE WHEN n % 2 = 1 THEN json_build_object('city', 'city' || n % 30, 'attempt', n % 3)::text END,
    'default', 0, '{}', to_timestamp((${endMs}::bigint - (${count} - n) * 500) / 1000.0)
  FROM generate_series(1, ${count}) AS n`;

const fillResults = (environmentId: Uuid<"env">): string => `
  INSERT INTO run_results (environment_id, run_id, status, failure, finished_at, epoch, applied_sequence, log_sequence,
    stdout_bytes, stderr_bytes, event_sequence)
  SELECT environment_id, id, CASE WHEN n % 50 = 1 THEN 'failed' ELSE 'succeeded' END,
    CASE WHEN n % 50 = 1 THEN json_build_object('kind', 'application_error', 'message', 'no answer from host ' || n % 40, 'stack',
      'TypeError: no answer')::text END, created_at, 0, 0, 0, 0, 0, 3
  FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM runs WHERE environment_id = '${environmentId}') r`;

async function explainReads(text: string, filter: RunFilter): Promise<void> {
  const [environmentId] = scene.environments;
  const before = await scene.db.query<{ rows: number }>(READS);
  const times: number[] = [];
  let ids: string[] = [];
  let requests = 0;
  for (let repeat = 0; repeat < 5; repeat += 1) {
    const begun = performance.now();
    const page = await siftRuns(scene.db, environmentId, filter, null, 50);
    times.push(performance.now() - begun);
    ids = page.ids;
    requests = page.next === null ? 1 : 2;
  }
  await scene.db.query(sql`SELECT pg_stat_clear_snapshot()`);
  const after = await scene.db.query<{ rows: number }>(READS);
  const rows = ((after[0]?.rows ?? 0) - (before[0]?.rows ?? 0)) / 5;
  const sorted = times.map((ms) => ms.toFixed(1));
  console.log(
    `${text}: ${ids.length} runs, ${sorted.join(" ")} ms, about ${Math.round(rows)} rows, ${requests === 1 ? "whole" : "goes on"}`,
  );
}

/** Rows that this session's statements fetched by indexes. */
const READS = sql`
  SELECT coalesce(sum(pg_stat_get_xact_tuples_fetched(oid) + pg_stat_get_tuples_fetched(oid)), 0)::bigint AS rows
  FROM pg_class WHERE relname IN ('runs', 'run_search', 'run_results', 'executions', 'run_search_blocks')`;

test("a search in many runs", { timeout: 3_600_000 }, async () => {
  const [own, other] = scene.environments;
  const endMs = scene.clock.now() - 60_000;
  const run = (text: string): Promise<unknown> =>
    scene.db.transaction((tx) => tx.query(rawSql(text)), { durability: "relaxed", limitMs: 600_000 });
  for (const [environmentId, count] of [
    [own, RUNS],
    [other, OTHERS],
  ] as const) {
    await run(fillRuns(environmentId, count, endMs));
    await run(fillResults(environmentId));
  }
  await scene.db.maintain(sql`VACUUM ANALYZE`);
  const begun = performance.now();
  const cpu = process.cpuUsage();
  while (await indexRuns(scene.context));
  const tookMs = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  const all = RUNS + OTHERS;
  console.log(
    `indexed: ${((tookMs * 1_000) / all).toFixed(0)} µs a run, of which ${((user + system) / all).toFixed(0)} µs in the server`,
  );
  await scene.db.maintain(sql`VACUUM ANALYZE`);
  const [size] = await scene.db.query<{
    heap: number;
    words: number;
    keys: number;
    runs: number;
    rows: number;
  }>(sql`
    SELECT pg_table_size('run_search') AS heap, pg_relation_size('run_search_words') AS words,
      pg_relation_size('run_search_pkey') AS keys, pg_total_relation_size('runs') + pg_total_relation_size('run_results') AS runs,
      (SELECT count(*) FROM run_search) AS rows`);
  assert.ok(size);
  assert.equal(size.rows, all);
  const per = (bytes: number): number => Math.round(bytes / all);
  console.log(
    `bytes a run: ${per(size.heap)} rows, ${per(size.words)} words, ${per(size.keys)} keys; the run itself ${per(size.runs)}`,
  );
  const queries: [string, Partial<RunFilter>][] = [
    ["everybody", {}],
    ["often", {}],
    ["seldom", {}],
    ["nobody", {}],
    ["customer-77", {}],
    ["everybody nobody", {}],
    ["seld*", {}],
    ["often", { statuses: ["failed"] }],
    ["seldom", { statuses: ["failed"] }],
    ["everybody", { task: "report-7" }],
    ["error:host", {}],
    ["metadata.city:city7", {}],
    ["everybody -often", {}],
    ["everybody", { task: "absent" }],
    ["often city3", {}],
  ];
  for (const [text, filter] of queries) {
    const parsed = parseRunSearch(text);
    assert.ok("search" in parsed);
    await explainReads(`${text} ${JSON.stringify(filter)}`, {
      ...ALL_RUNS,
      ...filter,
      terms: parsed.search.terms,
    });
  }
});

// What a report reads of its runs' waits does not grow with the waits that they are through with, and it is not given what they wait for.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { findRun } from "../../src/core/runs/run-reads.ts";
import { rawSql } from "../../src/db/sql.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordOwnQueries, recordQueries, type RecordedQuery } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

/** Waits that the run's journal has. */
const THROUGH = 5_000;
/** Waits that the run is in. */
const PENDING = 500;
/** Operations of the run in one report. */
const OPERATIONS = 100;
/** What is read for each of them, its own wait among it. */
const MOST = 10;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());

test("a hundred waits of a run with 5,000 accepted ones read those that are open", async () => {
  const lease = await scene.leased();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  const { db, credentials } = scene.server;
  const environmentId = decodeId("env", credentials.environment_id) as Uuid<"env">;
  const runId = decodeId("run", lease.runId) as Uuid<"run">;
  await db.query(
    rawSql(`
    INSERT INTO run_waits (environment_id, run_id, position, id, name, kind, status, timeout_at, accepted, created_at, settled_at)
    SELECT '${environmentId}', '${runId}', n, gen_random_uuid(), 'through', 'timer', 'resolved', now(), true, now(), now()
    FROM generate_series(1, ${THROUGH}) n`),
  );
  const timer = (position: number) => ({ position, name: "sleep", kind: "timer", timeout: "1h" });
  const operations = Array.from({ length: OPERATIONS }, (_, n) =>
    lease.operation("waits", { waits: [timer(THROUGH + n + 1)], parked: n === OPERATIONS - 1 }),
  );
  const queries = await recordQueries(async () => {
    assert.deepEqual(new Set(await scene.worker.report(...operations)), new Set([200]));
  });
  for (const query of readsOfWaits(queries)) {
    const { read, scans } = await readPlan(db, query);
    assert.ok(read <= MOST * OPERATIONS, `${read} rows: ${scans.join("; ")}`);
  }
  // The first wait that it is in is shown with it.
  const [look] = await recordOwnQueries(async () => void (await findRun(db, environmentId, runId)));
  const { read, scans } = await readPlan(db, look as RecordedQuery);
  assert.ok(read <= MOST, `${read} rows: ${scans.join("; ")}`);
});

function readsOfWaits(queries: readonly RecordedQuery[]): RecordedQuery[] {
  const reads = queries.filter(({ text }) => text.includes("(SELECT * FROM run_waits w"));
  assert.ok(reads.length > 0);
  return reads;
}

test("a report of a run that is in 500 waits is given those that it is about", async () => {
  const lease = await scene.leased();
  const { db } = scene.server;
  const wait = (position: number, timeout: string) => ({ position, name: "sleep", kind: "timer", timeout });
  const report = async (kind: string, fields: object): Promise<number> => {
    let answer: unknown;
    const queries = await recordQueries(async () => {
      answer = await scene.worker.report(lease.operation(kind, fields));
    });
    assert.deepEqual(answer, [200]);
    const plans = await Promise.all(readsOfWaits(queries).map((query) => readPlan(db, query)));
    return Math.max(...plans.map(({ returned }) => returned));
  };
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  const all = Array.from({ length: PENDING }, (_, n) => wait(n + 1, "1h"));
  for (let from = 0; from < PENDING; from += OPERATIONS)
    await report("waits", { waits: all.slice(from, from + OPERATIONS), parked: false });
  assert.equal(await report("waits", { waits: [wait(PENDING + 1, "0s")], parked: false }), 1);
  const entry = { position: PENDING + 1, kind: "wait", name: "sleep" };
  assert.equal(await report("steps", { entries: [entry] }), 0);
  assert.equal(await report("waits", { waits: [], parked: false, cancels: [3] }), 1);
});

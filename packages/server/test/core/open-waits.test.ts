// What a report reads of its runs' waits does not grow with the waits that they are through with.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { rawSql } from "../../src/db/sql.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

/** Waits that the run's journal has. */
const THROUGH = 5_000;
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
  const environmentId = decodeId("env", credentials.environment_id);
  const runId = decodeId("run", lease.runId);
  await db.query(
    rawSql(`
    INSERT INTO run_waits (environment_id, run_id, position, id, name, kind, status, timeout_at, accepted, created_at, settled_at)
    SELECT '${environmentId}', '${runId}', 100000 + n, gen_random_uuid(), 'through', 'timer', 'resolved', now(), true, now(), now()
    FROM generate_series(1, ${THROUGH}) n`),
  );
  const timer = (position: number) => ({ position, name: "sleep", kind: "timer", timeout: "1h" });
  const operations = Array.from({ length: OPERATIONS }, (_, n) =>
    lease.operation("waits", { waits: [timer(n + 1)], parked: false }),
  );
  const queries = await recordQueries(async () => {
    assert.deepEqual(new Set(await scene.worker.report(...operations)), new Set([200]));
  });
  const ofWaits = queries.filter(({ text }) => text.includes("JOIN run_waits w"));
  assert.ok(ofWaits.length > 0);
  for (const query of ofWaits) {
    const { read, scans } = await readPlan(db, query);
    assert.ok(read <= MOST * OPERATIONS, `${read} rows: ${scans.join("; ")}`);
  }
});

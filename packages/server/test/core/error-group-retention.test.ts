// An environment keeps a bounded number of error groups, and a dropped run is no longer among those of its group.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId, LIMITS } from "@keelson/contract";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { sql } from "../../src/db/sql.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { countEnded } from "../support/count-runs.ts";
import { failRun } from "../support/failed-run.ts";
import { NEVER_DROPPED } from "../support/never-dropped.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const DAY_MS = 86_400_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());

/** @returns how much went, by kind. */
async function drop(runsMs: number | null, days: number): Promise<Record<string, number>> {
  const dropped: Record<string, number> = {};
  await dropEnded({
    db: scene.server.db,
    clock: () => scene.clock.now() + days * DAY_MS,
    retention: { ...NEVER_DROPPED, runsMs },
    countDropped: (kind, count) => void (dropped[kind] = (dropped[kind] ?? 0) + count),
    noteSwept: () => undefined,
    noteLoopFailure: () => undefined,
  });
  return dropped;
}

test("groups beyond the bound go, those first that were not seen for longest", async () => {
  const run = await failRun(scene, "plain", { message: "kept", stack: null });
  const { error_group_id: kept } = await scene.get(run);
  await until("the run is counted", 30_000, async () => {
    const { body } = await scene.call("GET", `/v1/error-groups/${kept}`);
    return body.tasks.length === 1;
  });
  await scene.server.db.query(sql`
    INSERT INTO error_groups (environment_id, id, kind, title, message, status, first_seen_at, last_seen_at, count, last_run_id)
    SELECT ${decodeId("env", scene.server.credentials.environment_id)}, gen_random_uuid(), 'application_error', n::text, 'old', 'open',
      to_timestamp(n), to_timestamp(n), 1, gen_random_uuid()
    FROM generate_series(1, ${LIMITS.errorGroups + 2}) n`);
  assert.equal((await drop(null, 0))["error_groups"], 3);
  const [left] = await scene.server.db.query<{ count: number; oldest: string }>(sql`
    SELECT count(*), min(title::integer) FILTER (WHERE message = 'old')::text AS oldest FROM error_groups`);
  assert.deepEqual(left, { count: LIMITS.errorGroups, oldest: "4" });
  assert.equal((await scene.call("GET", `/v1/error-groups/${kept}`)).status, 200);
  const metrics = await scene.server.call("GET", "/metrics", { as: scene.server.credentials.admin_key });
  assert.match(metrics.text, /keelson_dropped_total\{kind="error_groups"\}/);
});

test("a dropped run stays counted and is not listed any more", async () => {
  const run = await failRun(scene, "plain", { message: "dropped later", stack: null });
  const { error_group_id: id } = await scene.get(run);
  await countEnded(scene.server.db, scene.clock.now);
  assert.equal((await drop(30 * DAY_MS, 31))["runs"], 2);
  const { body } = await scene.call("GET", `/v1/runs?error_group_id=${id}`);
  assert.deepEqual(body.runs, []);
  assert.equal((await scene.call("GET", `/v1/error-groups/${id}`)).body.last_run_id, run);
  await checkInvariants(scene.server.db, "after the runs went");
});

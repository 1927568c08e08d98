// A bulk replay waits while the environment has as many live runs as it may, and goes on when there is room again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { until } from "../../support/until.ts";

const BULK = "/v1/runs/bulk-actions";
const LIVE_RUNS = 5;
const RUNS = 4;
const WAIT_MS = 30_000;

let scene: RunScene;
before(async () => {
  const quotas = { liveRuns: LIVE_RUNS, eventStreams: 10, storedBytes: 0 };
  scene = await startRunScene({ tasks: [{ id: "plain" }] }, { config: { quotas } });
});
after(() => scene?.stop());

test("a replay waits for room, and fails no run for want of it", async () => {
  for (let n = 0; n < RUNS; n += 1) await scene.cancel((await scene.start("plain", { tags: ["room"] })).id);
  scene.clock.advance(60_000);
  for (let n = 0; n < LIVE_RUNS; n += 1) await scene.start("plain");
  const made = await scene.call("POST", BULK, { body: { action: "replay", filter: { tag: ["room"] } } });
  assert.equal(made.status, 202, made.text);
  const read = async () => (await scene.call("GET", `${BULK}/${made.body.id}`)).body;
  await until("the action is put off", WAIT_MS, async () => {
    const [row] = await scene.server.db.query<{ later: boolean }>(
      sql`SELECT next_batch_at > created_at AS later FROM bulk_actions`,
    );
    return row?.later === true;
  });
  const waiting = await read();
  assert.deepEqual([waiting.status, waiting.done, waiting.failed], ["running", 0, 0]);
  await scene.cancelAll();
  scene.clock.advance(60_000);
  await until("all runs are replayed", WAIT_MS, async () => (await read()).status === "completed");
  const { matched, done, failed, skipped } = await read();
  assert.deepEqual([matched, done, failed, skipped], [RUNS, RUNS, 0, 0]);
});

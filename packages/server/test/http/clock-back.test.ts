// PostgreSQL's clock is set back by an hour: what a server knew a moment ago is not trusted until that hour has passed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { addApiKey } from "../support/tenancy.ts";

const HOUR_MS = 3_600_000;
const LIVE_RUNS = 4;

let scene: RunScene;
before(async () => {
  const quotas = { liveRuns: LIVE_RUNS, eventStreams: 0, storedBytes: 0 };
  scene = await startRunScene({ tasks: [{ id: "job" }] }, { config: { quotas } });
});
after(() => scene?.stop());

test("a key that another server revoked meanwhile is refused", async () => {
  const key = await addApiKey(scene.server, ["runs.read"]);
  const read = async (): Promise<number> => (await scene.server.call("GET", "/api/runs", { as: key })).status;
  assert.equal(await read(), 200);
  scene.clock.advance(-HOUR_MS);
  // No word of it reaches this server.
  await scene.server.db.query(sql`UPDATE api_keys SET revoked_at = now() WHERE name = 'test'`);
  assert.equal(await read(), 401);
});

test("a quota that was full is asked for again", async () => {
  const start = (): Promise<{ status: number }> =>
    scene.call("POST", "/v1/tasks/job/start", { body: { delay: "1d" } });
  for (let run = 0; run < LIVE_RUNS; run += 1) assert.equal((await start()).status, 201);
  assert.equal((await start()).status, 429);
  scene.clock.advance(-HOUR_MS);
  await scene.cancelAll();
  assert.equal((await start()).status, 201);
});

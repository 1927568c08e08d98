// The sweep of runs does not look at runs that a session keeps in each round, and forgets none.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { FIRST_KEY } from "../../src/core/retention/retention.ts";
import { createSweepFronts, type SweepFronts } from "../../src/core/retention/sweep-fronts.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { countEnded } from "../support/count-runs.ts";
import { NEVER_DROPPED } from "../support/never-dropped.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { endTurn, startSession } from "../support/session-scene.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());

async function round(fronts: SweepFronts, hours: number, runsMs = 30 * DAY_MS): Promise<number> {
  await countEnded(scene.server.db, scene.clock.now);
  let dropped = 0;
  await dropEnded({
    db: scene.server.db,
    clock: () => scene.clock.now() + hours * HOUR_MS,
    retention: { ...NEVER_DROPPED, runsMs, sessionsMs: 90 * DAY_MS },
    countDropped: (kind, count) => void (dropped += kind === "runs" ? count : 0),
    noteSwept: () => undefined,
    noteLoopFailure: () => undefined,
    runFronts: fronts,
  });
  return dropped;
}

async function finished(): Promise<string> {
  const run = await scene.start("work");
  await scene.worker.finish(await scene.worker.takeOne());
  return run.id;
}

/** An open session whose first run has ended. */
async function kept(): Promise<{ session: Json; run: string }> {
  const session = await startSession(scene);
  return { session, run: await endTurn(scene, session) };
}

/** Copies of a session's run, of which there are more pages than one. */
async function keptPages(run: string): Promise<void> {
  const newUuid = createUuidGenerator(scene.clock.now);
  const ids = Array.from({ length: 1_200 }, () => newUuid());
  const id = decodeId("run", run);
  await scene.server.db.query(sql`
    INSERT INTO run_results
    SELECT (jsonb_populate_record(x, jsonb_build_object('run_id', i.id, 'end_number', NULL))).*
    FROM run_results x, unnest(${ids}::uuid[]) AS i (id) WHERE x.run_id = ${id}`);
  await scene.server.db.query(sql`
    INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('id', i.id))).*
    FROM runs r, unnest(${ids}::uuid[]) AS i (id) WHERE r.id = ${id}`);
}

const isThere = async (run: string): Promise<boolean> =>
  (await scene.call("GET", `/v1/runs/${run}`)).status === 200;
const endedDaysAgo = (run: string, days: number): Promise<unknown> =>
  scene.server.db.query(sql`
    UPDATE run_results SET finished_at = to_timestamp(${scene.clock.now() - days * DAY_MS}::float8 / 1000)
    WHERE run_id = ${decodeId("run", run)}`);

/** The keys after which a round's statements looked at runs of the environment. */
async function keysOf(work: () => Promise<unknown>): Promise<unknown[]> {
  const environmentId = decodeId("env", scene.server.credentials.environment_id);
  const all = await recordOwnQueries(async () => void (await work()));
  const lists = all.filter(({ text, values }) => text.includes("is_held") && values.includes(environmentId));
  return lists.map(({ text, values }) => values[Number(/run_id > \$(\d+)/.exec(text)?.[1]) - 1]);
}

test("runs of kept sessions are looked at once a day; what is due above and between them goes in each round", async () => {
  const fronts = createSweepFronts();
  const sessions = [await kept(), await kept()];
  const plain = await finished();
  await kept();
  const after31Days = 31 * 24;
  assert.equal(await round(fronts, after31Days), 1);
  assert.equal(await isThere(plain), false);

  // One of which the sweep did not know, as it ended below its front.
  const [late] = sessions;
  assert.ok(late !== undefined);
  await scene.server.db.query(sql`UPDATE runs SET session_id = NULL WHERE id = ${decodeId("run", late.run)}`);
  const next = await finished();
  assert.equal(await round(fronts, after31Days + 1), 1, "the newer one");
  assert.deepEqual([await isThere(late.run), await isThere(next)], [true, false]);
  assert.equal(await round(fronts, after31Days + 23), 0);
  assert.equal(await round(fronts, after31Days + 24), 1, "a day later");
  assert.equal(await isThere(late.run), false);
  for (const { run } of sessions.slice(1)) assert.equal(await isThere(run), true);
});

test("a run that stays for another reason is looked at in each round, and what is above it too", async () => {
  const fronts = createSweepFronts();
  const [young, old] = [await finished(), await finished()];
  await keptPages((await kept()).run);
  await scene.server.db.query(sql`
    UPDATE run_results SET finished_at = finished_at + interval '1 hour' WHERE run_id = ${decodeId("run", young)}`);
  const hours = 30 * 24 + 0.5;
  assert.equal(await round(fronts, hours), 1);
  assert.deepEqual([await isThere(young), await isThere(old)], [true, false]);
  assert.equal(await round(fronts, hours + 1), 1);
  assert.equal(await isThere(young), false);
});

test("a round begins behind the runs of sessions that the one before has passed", async () => {
  const fronts = createSweepFronts();
  await kept();
  const [last] = await scene.server.db.query<{ id: string }>(
    sql`SELECT run_id AS id FROM run_results ORDER BY run_id DESC LIMIT 1`,
  );
  const first = await keysOf(() => round(fronts, 31 * 24));
  assert.equal(first[0], FIRST_KEY);
  assert.deepEqual(await keysOf(() => round(fronts, 31 * 24 + 1)), [last?.id]);
});

test("what is kept for an hour is looked at again after an hour", async () => {
  const fronts = createSweepFronts();
  const { run } = await kept();
  await endedDaysAgo(run, 1);
  assert.equal(await round(fronts, 2, HOUR_MS), 0);
  await scene.server.db.query(sql`UPDATE runs SET session_id = NULL WHERE id = ${decodeId("run", run)}`);
  assert.equal(await round(fronts, 2.9, HOUR_MS), 0);
  assert.equal(await round(fronts, 3, HOUR_MS), 1);
});

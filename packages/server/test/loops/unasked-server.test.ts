// A server that nobody asks anything looks seldom for what is due, and as often as ever for what may be.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql, type Sql } from "../../src/db/sql.ts";
import { createLastAsked } from "../../src/last-asked.ts";
import { createLog } from "../../src/log.ts";
import { createDueLook } from "../../src/loops/look-for-due.ts";
import { startLoops, type LoopWork } from "../../src/loops/loop.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { recordQueries } from "../support/record-queries.ts";
import { startRunScene } from "../support/run-scene.ts";
import { letPass, until } from "../support/until.ts";

/** Of a lease of 15 seconds. */
const REST_MS = 2_000;
const LOOK = /AS d \(index, is_due\)/;

let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase({ migrated: false });
  db = createDatabase({ url: database.url, poolSize: 1, statementNames: false });
  await db.query(sql`CREATE TABLE jobs (at double precision NOT NULL)`);
});
after(async () => {
  await db?.close();
  await database?.drop();
});

const hasJobs = (by: number): Sql => sql`EXISTS (SELECT FROM jobs WHERE at <= ${by})`;

describe("a look for what is due", () => {
  /** Looks at times that the test gives, with what each finds and how often it asks. */
  const watch = () => {
    const now = { steady: 1_000, clock: 1_000_000 };
    const state = { found: 0, mayBegin: true, askedAt: Number.NEGATIVE_INFINITY };
    const works = [
      { due: hasJobs, mayBegin: () => true, wake: () => void (state.found += 1) },
      { due: () => sql`false`, mayBegin: () => state.mayBegin, wake: () => assert.fail() },
    ];
    const context = {
      ...{ db, clock: () => now.clock, timekeeper: { hear: () => undefined } },
      leaseDurationMs: 15_000,
      lastAsked: { at: () => state.askedAt },
    };
    const lookOnce = createDueLook(works, context, () => now.steady);
    const look = async (passedMs: number): Promise<{ asked: number; found: number }> => {
      now.steady += passedMs;
      now.clock += passedMs;
      state.found = 0;
      const asked = (await recordQueries(lookOnce)).filter(({ text }) => LOOK.test(text)).length;
      return { asked, found: state.found };
    };
    return { now, state, look };
  };
  const plan = (at: number) => db.query(sql`INSERT INTO jobs VALUES (${at})`);
  const forget = () => db.query(sql`DELETE FROM jobs`);

  test("rests after one by which nothing becomes due meanwhile, until the server is asked", async () => {
    const { now, state, look } = watch();
    assert.deepEqual(await look(0), { asked: 1, found: 0 });
    assert.deepEqual(await look(500), { asked: 1, found: 0 });
    for (let ms = 500; ms < REST_MS; ms += 500) assert.deepEqual(await look(500), { asked: 0, found: 0 });
    assert.deepEqual(await look(500), { asked: 1, found: 0 });
    await plan(now.clock);
    assert.deepEqual(await look(0), { asked: 0, found: 0 });
    state.askedAt = now.steady;
    assert.deepEqual(await look(500), { asked: 1, found: 1 });
    await forget();
  });

  test("goes on twice a second while something becomes due within the rest, and finds it when it is", async () => {
    const { now, look } = watch();
    await look(0);
    await plan(now.clock + REST_MS);
    assert.deepEqual(await look(500), { asked: 2, found: 0 });
    for (let ms = 1_000; ms < REST_MS; ms += 500) assert.deepEqual(await look(500), { asked: 1, found: 0 });
    assert.deepEqual(await look(500), { asked: 1, found: 1 });
    await forget();
  });

  test("does not rest over a leap of the clock, nor while some work may not begin", async () => {
    const { now, state, look } = watch();
    await look(0);
    assert.deepEqual(await look(500), { asked: 1, found: 0 });
    await plan(now.clock + 60_000);
    now.clock += 60_000;
    assert.equal((await look(500)).found, 1);
    state.mayBegin = false;
    for (let looks = 0; looks < 3; looks += 1) assert.equal((await look(REST_MS)).asked, 1);
    await forget();
  });
});

test("a loop that finds only what others ask for rests while nobody does, unless it has more to do", async () => {
  const lastAsked = createLastAsked();
  const rounds = { resting: 0, busy: 0 };
  const work = (name: keyof typeof rounds, soonMs?: number): LoopWork => ({
    ...{ name, intervalMs: 20, unaskedIntervalMs: 600_000 },
    run: async () => {
      rounds[name] += 1;
      return soonMs;
    },
  });
  const loops = startLoops([work("resting"), work("busy", 10)], {
    ...{ db, lastAsked, clock: () => 0, random: () => 0.5, log: createLog("silent"), leaseDurationMs: 6_000 },
    ...{ wakes: createWakes(() => undefined), noteRound: () => undefined },
    timekeeper: { hasWatched: () => true, isSettled: () => true, hear: () => undefined },
  });
  try {
    await until("the busy one to go on", 60_000, async () => rounds.busy >= 20);
    assert.equal(rounds.resting, 1);
    lastAsked.note();
    await until("a round for what was asked", 60_000, async () => rounds.resting === 2);
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
});

test("polls, heartbeats and reads do not keep a server looking, and what changes something does", async (t) => {
  const scene = await startRunScene({ tasks: [{ id: "plain" }] });
  t.after(() => scene.stop());
  /** Until when each look looked ahead, in milliseconds from now. */
  const looksDuring = async (work: () => Promise<void>): Promise<number[]> =>
    (await recordQueries(work))
      .filter(({ text }) => LOOK.test(text))
      .map(({ values }) => (values.includes(scene.clock.now()) ? 0 : REST_MS));
  const { id } = await scene.start("plain", { delay: "1h" });
  await until("the server to rest", 60_000, async () => {
    const looks = await looksDuring(() => letPass(REST_MS, "looks of a server that is asked for nothing"));
    return looks.at(-1) === REST_MS;
  });

  const looks = await looksDuring(async () => {
    const polling = scene.worker.lease({ wait: `${3 * REST_MS}ms` });
    for (let ms = 0; ms < 3 * REST_MS; ms += 250) {
      await letPass(250, "a server is asked for nothing while its worker polls");
      await scene.call("GET", `/v1/runs/${id}`);
      assert.equal((await scene.worker.call("POST", "/heartbeat", {})).status, 200);
      await scene.worker.renew();
    }
    await polling;
  });
  assert.ok(looks.length >= 1 && looks.every((aheadMs) => aheadMs === REST_MS), looks.join(", "));

  await until("a look after a change", 60_000, async () => {
    const after = await looksDuring(async () => {
      assert.equal((await scene.cancel(id)).status, 200);
      await letPass(REST_MS / 2, "looks of a server that was asked for something");
    });
    return after.includes(0);
  });
});

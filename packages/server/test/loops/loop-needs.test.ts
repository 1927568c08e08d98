// Loops that may only run when something is known: that nobody's silence was missed, that the time is right.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { rawSql } from "../../src/db/sql.ts";
import { createLastAsked } from "../../src/last-asked.ts";
import { createLog } from "../../src/log.ts";
import { startLoops, type LoopWork } from "../../src/loops/loop.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase({ migrated: false });
  db = createDatabase({ url: database.url, poolSize: 1, statementNames: false });
});
after(async () => {
  await db?.close();
  await database?.drop();
});

for (const [needs, allows] of [
  ["watched-silence", { hasWatched: (ms: number) => ms === 6_000, isSettled: () => false }],
  ["settled-time", { hasWatched: () => false, isSettled: () => true }],
] as const)
  test(`a loop that needs ${needs} has rounds only while that holds, however it is begun`, async () => {
    const rounds = { due: 0, woken: 0, timed: 0, free: 0 };
    const state = { isKnown: false };
    const always = (): ReturnType<typeof rawSql> => rawSql("true");
    const work = (name: keyof typeof rounds, more: Partial<LoopWork>): LoopWork => ({
      name,
      intervalMs: 20,
      run: async () => void (rounds[name] += 1),
      ...more,
    });
    const wakes = createWakes(() => undefined);
    const loops = startLoops(
      [
        work("due", { needs, intervalMs: 60_000, due: always }),
        work("woken", { needs, intervalMs: 60_000, wakeKey: "woken" }),
        work("timed", { needs }),
        work("free", { intervalMs: 60_000, due: always }),
      ],
      {
        ...{
          db,
          wakes,
          lastAsked: createLastAsked(),
          clock: () => 0,
          random: Math.random,
          log: createLog("error"),
          leaseDurationMs: 6_000,
          noteRound: () => undefined,
        },
        timekeeper: {
          hear: () => undefined,
          hasWatched: (ms) => state.isKnown && allows.hasWatched(ms),
          isSettled: () => state.isKnown && allows.isSettled(),
        },
      },
    );
    try {
      await until("others have had rounds", 10_000, async () => {
        wakes.wake("woken");
        return rounds.free > 2;
      });
      assert.deepEqual([rounds.due, rounds.woken, rounds.timed], [0, 0, 0]);
      state.isKnown = true;
      await until("all have had rounds", 10_000, async () => {
        wakes.wake("woken");
        return rounds.due > 1 && rounds.woken > 1 && rounds.timed > 1;
      });
    } finally {
      await Promise.all(loops.map((loop) => loop.stop()));
    }
  });

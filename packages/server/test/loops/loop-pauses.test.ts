// No loop runs without a pause: not while its work stays due, not while its rounds fail, however often it is woken.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { rawSql } from "../../src/db/sql.ts";
import { createLastAsked } from "../../src/last-asked.ts";
import { createLog } from "../../src/log.ts";
import { LOOK_INTERVAL_MS, startLoops, type LoopContext, type LoopWork } from "../../src/loops/loop.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { letPass, until } from "../support/until.ts";

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

const always = (): ReturnType<typeof rawSql> => rawSql("true");

const loopContext = (wakes: LoopContext["wakes"], noteRound: LoopContext["noteRound"]): LoopContext => ({
  ...{ db, wakes, noteRound, lastAsked: createLastAsked() },
  ...{ clock: () => 0, random: () => 0.5, log: createLog("silent"), leaseDurationMs: 6_000 },
  timekeeper: { hasWatched: () => true, isSettled: () => true, hear: () => undefined },
});

test("a loop whose work stays due, and one that fails while it is woken, have a pause before every round", async () => {
  const noted: string[] = [];
  const rounds: Record<string, number[]> = { due: [], failing: [], "failing and due": [] };
  const work = (name: string, more: Partial<LoopWork>, error?: Error): LoopWork => ({
    name,
    intervalMs: 20,
    run: async () => {
      rounds[name]?.push(performance.now());
      if (error !== undefined) throw error;
    },
    ...more,
  });
  const wakes = createWakes(() => undefined);
  const refused = new Error("this work cannot be done");
  const loops = startLoops(
    [
      work("due", { intervalMs: 60_000, due: always }),
      work("failing", { wakeKey: "failing" }, refused),
      work("failing and due", { intervalMs: 60_000, due: always }, refused),
    ],
    loopContext(wakes, (loop, _tookMs, failed) => void noted.push(`${loop} ${failed ? "failed" : "ended"}`)),
  );
  try {
    await until("each has had rounds", 60_000, async () => {
      for (let wake = 0; wake < 100; wake += 1) wakes.wake("failing");
      return (
        rounds["due"]!.length >= 5 && rounds["failing"]!.length >= 7 && rounds["failing and due"]!.length >= 2
      );
    });
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
  for (const [name, begun] of Object.entries(rounds)) {
    const ending = name === "due" ? "ended" : "failed";
    assert.equal(noted.filter((round) => round === `${name} ${ending}`).length, begun.length, name);
  }
  const pausesOf = (name: string): number[] =>
    (rounds[name] as number[]).slice(1).map((at, index) => at - (rounds[name] as number[])[index]!);
  assert.ok(
    pausesOf("due").every((ms) => ms > LOOK_INTERVAL_MS / 2),
    `due: ${pausesOf("due").join(", ")}`,
  );
  // Doubled after each failure; a wake leaves half a second of it. Timers are a millisecond early.
  for (const [name, firstMs, mostMs] of [
    ["failing", 40, LOOK_INTERVAL_MS],
    ["failing and due", 2 * LOOK_INTERVAL_MS, Number.POSITIVE_INFINITY],
  ] as const)
    for (const [index, ms] of pausesOf(name).slice(0, 6).entries())
      assert.ok(ms > Math.min(firstMs * 2 ** index, mostMs) - 5, `${name}: ${pausesOf(name).join(", ")}`);
});

test("a loop rests for its share after two long rounds, and not after one that was held up", async () => {
  const rounds = { "held up": 0, slow: 0, quick: 0 };
  const work = (name: keyof typeof rounds, maxShare: number, longFrom: number, longTo: number): LoopWork => ({
    ...{ name, maxShare, intervalMs: 20 },
    run: async () => {
      rounds[name] += 1;
      if (rounds[name] >= longFrom && rounds[name] <= longTo) await letPass(200, "a round that takes long");
    },
  });
  const loops = startLoops(
    [work("held up", 1e-3, 3, 3), work("slow", 1e-3, 1, 2), work("quick", 1, 0, 0)],
    loopContext(
      createWakes(() => undefined),
      () => undefined,
    ),
  );
  try {
    await until("rounds after the one that was held up", 60_000, async () => rounds["held up"] >= 4);
    const already = rounds.quick;
    await until("others to go on", 60_000, async () => rounds.quick >= already + 20 && rounds.slow >= 2);
    assert.equal(rounds.slow, 2);
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
});

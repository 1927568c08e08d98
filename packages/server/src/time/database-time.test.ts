import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDatabaseTime } from "./database-time.ts";

const EPOCH = 1_750_000_000_000;

/** A process and a database whose clocks a test moves. */
function createScene() {
  const scene = {
    monotonic: 5_000,
    databaseMs: EPOCH,
    pass(ms: number): void {
      scene.monotonic += ms;
      scene.databaseMs += ms;
    },
    /** Asks and hears the answer after `there + back` milliseconds. */
    read(there: number, back: number) {
      const askedAt = scene.monotonic;
      scene.pass(there);
      const { databaseMs } = scene;
      scene.pass(back);
      return { askedAt, answeredAt: scene.monotonic, databaseMs };
    },
  };
  return scene;
}

test("the time is PostgreSQL's, to within half of the quickest answer", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 400 })), {
        minLength: 1,
      }),
      (answers) => {
        const scene = createScene();
        const time = createDatabaseTime(() => scene.monotonic, scene.read(100, 100));
        let quickest = 200;
        for (const [there, back] of answers) {
          scene.pass(500);
          assert.equal(time.correct(scene.read(there, back)), 0);
          quickest = Math.min(quickest, there + back);
          // Besides, for the whole milliseconds and for clocks that may drift apart.
          const allowed = quickest / 2 + 1 + answers.length * 1_300 * 0.0005;
          assert.ok(Math.abs(time.now() - scene.databaseMs) <= allowed);
        }
      },
    ),
  );
});

test("it never goes back by a correction", () => {
  const scene = createScene();
  // As early as it can be within its answer, which is known only later.
  const time = createDatabaseTime(() => scene.monotonic, scene.read(0, 1_000));
  const before = time.now();
  time.correct(scene.read(0, 0));
  assert.ok(time.now() >= before);
  scene.pass(10);
  assert.ok(time.now() >= before);
});

test("a clock that a time service corrects is followed without a word", () => {
  const scene = createScene();
  const time = createDatabaseTime(() => scene.monotonic, scene.read(0, 0));
  for (let second = 0; second < 100; second += 1) {
    scene.pass(1_000);
    scene.databaseMs += 15;
    assert.equal(time.correct(scene.read(0, 0)), 0);
    assert.ok(Math.abs(time.now() - scene.databaseMs) <= 1);
  }
});

for (const byMs of [60_000, 40 * 86_400_000, -3_600_000])
  test(`a clock that is set by ${byMs} ms is followed, and that is told`, () => {
    const scene = createScene();
    const time = createDatabaseTime(() => scene.monotonic, scene.read(1, 1));
    time.now();
    scene.databaseMs += byMs;
    assert.ok(Math.abs(time.now() - (scene.databaseMs - byMs)) <= 2, "not before PostgreSQL was asked");
    assert.ok(Math.abs(time.correct(scene.read(1, 1)) - byMs) <= 4);
    assert.ok(Math.abs(time.now() - scene.databaseMs) <= 2);
    assert.equal(time.correct(scene.read(1, 1)), 0, "told once");
  });

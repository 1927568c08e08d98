import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSpareTurns, type Turn } from "./spare-turns.ts";

/** The turns of a machine that has had so much idle time of each second. */
function turnsOf(idle: readonly number[], longestMs = 3_000): Turn[] {
  const times = { idle: 5_000, all: 90_000 };
  let second = 0;
  const next = createSpareTurns(
    longestMs,
    () => ({ ...times }),
    () => second * 1_000,
  );
  return idle.map((share) => {
    second += 1;
    times.all += 1_000;
    times.idle += share * 1_000;
    return next();
  });
}

describe("a turn of work that nobody waits for", () => {
  test("comes while the machine is idle", () => assert.deepEqual(turnsOf([0.5, 0.4]), ["spare", "spare"]));
  test("does not come while it is busy, until it has waited for long", () =>
    assert.deepEqual(turnsOf([0.5, 0.1, 0, 0.1, 0.1]), ["spare", "none", "none", "busy", "none"]));
  test("comes at once when the machine is idle again", () =>
    assert.deepEqual(turnsOf([0, 0.9]), ["none", "spare"]));
  test("comes where the machine does not tell its times", () => {
    const next = createSpareTurns(3_000, () => ({ idle: 0, all: 0 }));
    assert.equal(next(), "spare");
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTimekeeper, SETTLING_MS, trustClock } from "./timekeeper.ts";

const EPOCH = 1_750_000_000_000;
const LEASE_MS = 15_000;

/** A server whose clocks a test moves, and what it was told. */
function createScene() {
  let monotonic = 0;
  let ahead = 0;
  let wallAhead = 0;
  const reading = (answerMs = 0) => {
    const askedAt = monotonic;
    monotonic += answerMs;
    return { askedAt, answeredAt: monotonic, databaseMs: EPOCH + ahead + monotonic };
  };
  const told: string[] = [];
  const keeper = createTimekeeper({
    first: reading(),
    monotonic: () => monotonic,
    wall: () => EPOCH + ahead + wallAhead + monotonic,
    onGap: () => told.push("gap"),
    onStep: (byMs) => told.push(`step ${Math.round(byMs / 1_000)}`),
    onWallClock: (byMs) => told.push(`wall ${Math.round(byMs / 1_000)}`),
  });
  let heardAt = 0;
  const hear = (answerMs?: number): void => {
    keeper.hear(reading(answerMs));
    heardAt = monotonic;
  };
  return {
    keeper,
    told,
    /** Time in which the server and PostgreSQL are there. */
    live: (ms: number): void => {
      for (let left = ms; left > 0; left -= 500) {
        monotonic += Math.min(500, left);
        keeper.tick();
        if (monotonic - heardAt >= 2_000) hear();
      }
    },
    /** Time in which the server does nothing. */
    absent: (ms: number): void => void (monotonic += ms),
    /** Time in which the server hears nothing of PostgreSQL. */
    silent: (ms: number): void => {
      for (let left = ms; left > 0; left -= 500) {
        monotonic += Math.min(500, left);
        keeper.tick();
      }
    },
    hear,
    setDatabaseClock: (ms: number): void => void (ahead += ms),
    setWallClock: (ms: number): void => void (wallAhead = ms),
  };
}

test("a server that was there for a whole lease may take silence for death; one that has just begun may not", () => {
  const { keeper, live, told } = createScene();
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  live(LEASE_MS - 500);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  live(500);
  assert.equal(keeper.hasWatched(LEASE_MS), true);
  live(3_600_000);
  assert.equal(keeper.hasWatched(LEASE_MS), true);
  assert.deepEqual(told, []);
});

test("after an absence of its own it watches again, also when it is asked before it has noticed", () => {
  const { keeper, live, absent, hear, told } = createScene();
  live(60_000);
  absent(20_000);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  hear();
  live(LEASE_MS - 500);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  live(500);
  assert.equal(keeper.hasWatched(LEASE_MS), true);
  assert.deepEqual(told, ["gap"]);
});

test("pauses as a container with a limit has them are no absence", () => {
  const { keeper, live, absent } = createScene();
  for (let pause = 0; pause < 20; pause += 1) {
    live(1_000);
    absent(800);
  }
  assert.equal(keeper.hasWatched(LEASE_MS), true);
});

test("while PostgreSQL is silent nobody is heard, and then the watch begins again", () => {
  const { keeper, live, silent, hear, told } = createScene();
  live(60_000);
  silent(20_000);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  hear();
  live(LEASE_MS);
  assert.equal(keeper.hasWatched(LEASE_MS), true);
  assert.deepEqual(told, ["gap"]);
});

test("an answer that PostgreSQL gave late begins the watch again", () => {
  const { keeper, live, hear } = createScene();
  live(60_000);
  hear(6_000);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
});

test("a machine that slept, whose monotonic clock stood still, watches again and deletes nothing for an hour", () => {
  const { keeper, live, setDatabaseClock, told } = createScene();
  live(60_000);
  setDatabaseClock(8 * 3_600_000);
  assert.equal(keeper.hasWatched(LEASE_MS), true, "it is not known before PostgreSQL is asked");
  assert.ok(keeper.now() < EPOCH + 3_600_000, "and nothing is old before that");
  live(2_000);
  assert.equal(keeper.hasWatched(LEASE_MS), false);
  assert.equal(keeper.isSettled(), false);
  live(LEASE_MS);
  assert.equal(keeper.hasWatched(LEASE_MS), true);
  live(SETTLING_MS);
  assert.equal(keeper.isSettled(), true);
  assert.deepEqual(told, ["step 28800"]);
});

test("a clock that was wrong and is right again is not settled either for an hour", () => {
  const { keeper, live, setDatabaseClock, told } = createScene();
  live(10_000);
  setDatabaseClock(40 * 86_400_000);
  live(10_000);
  setDatabaseClock(-40 * 86_400_000);
  live(SETTLING_MS - 2_000);
  assert.equal(keeper.isSettled(), false);
  live(4_000);
  assert.equal(keeper.isSettled(), true);
  assert.deepEqual(told, ["step 3456000", "step -3456000"]);
});

test("the clock of the machine decides nothing, and is told to be wrong once", () => {
  const { keeper, live, setWallClock, told } = createScene();
  live(20_000);
  const before = keeper.now();
  setWallClock(300_000);
  live(10_000);
  assert.equal(keeper.now(), before + 10_000);
  assert.equal(keeper.wallClockAheadMs(), 300_000);
  assert.ok(keeper.hasWatched(LEASE_MS) && keeper.isSettled());
  setWallClock(0);
  live(10_000);
  assert.deepEqual(told, ["wall 300", "wall 0"]);
});

test("a clock that is trusted is never away", () => {
  const keeper = trustClock(() => 17);
  assert.equal(keeper.now(), 17);
  assert.ok(keeper.hasWatched(Number.MAX_SAFE_INTEGER) && keeper.isSettled());
});

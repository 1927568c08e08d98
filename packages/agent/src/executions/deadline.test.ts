import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Deadline } from "./deadline.ts";

/** A deadline whose time a test moves. */
function createScene(t: TestContext, limitMs: number | null, usedMs = 0) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let monotonic = 1_000;
  let isOver = false;
  const deadline = new Deadline({
    limitMs,
    usedMs,
    monotonic: () => monotonic,
    onOver: () => (isOver = true),
  });
  return {
    deadline,
    isOver: () => isOver,
    /** Time in which the agent runs. */
    pass: (ms: number): void => {
      for (let left = ms; left > 0; left -= 100) {
        monotonic += Math.min(100, left);
        t.mock.timers.tick(Math.min(100, left));
      }
    },
    /** Time in which the agent is stopped, and its clock goes on. */
    sleep: (ms: number): void => void (monotonic += ms),
  };
}

test("is over when the code has run for as long as it may", (t) => {
  const { deadline, pass, isOver } = createScene(t, 8_000, 500);
  deadline.run();
  pass(7_400);
  assert.equal(isOver(), false);
  pass(100);
  assert.equal(isOver(), true);
});

test("does not count the time in which the run waits", (t) => {
  const { deadline, pass, isOver } = createScene(t, 3_000);
  deadline.run();
  pass(1_500);
  deadline.pause();
  pass(60_000);
  deadline.run();
  pass(1_400);
  assert.equal(isOver(), false);
  pass(100);
  assert.equal(isOver(), true);
});

test("does not count the time in which the machine slept, also when the run waits right after it", (t) => {
  const { deadline, pass, sleep, isOver } = createScene(t, 8_000);
  deadline.run();
  pass(4_000);
  sleep(60_000);
  pass(2_000);
  sleep(60_000);
  deadline.pause();
  deadline.run();
  assert.equal(isOver(), false);
  pass(2_000);
  assert.equal(isOver(), true);
});

test("there may be none", (t) => {
  const { deadline, pass, isOver } = createScene(t, null);
  deadline.run();
  pass(10_000);
  deadline.pause();
  assert.equal(isOver(), false);
});

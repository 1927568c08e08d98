import assert from "node:assert/strict";
import { test } from "node:test";
import { callBounded, StarvedError } from "./bounded-call.ts";

const BOUND_MS = 50;
const word = new Int32Array(new SharedArrayBuffer(4));
/** As a machine that does something else. */
const standStill = (ms: number): unknown => Atomics.wait(word, 0, 0, ms);

/** Works for so many milliseconds on a processor, however long that takes. */
function work(ms: number, afterEach: () => void = () => undefined): void {
  const before = process.threadCpuUsage();
  for (let used = 0; used < ms * 1_000;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > used + 1_000) afterEach();
    used = user + system;
  }
}

test("work that takes its time is ended, however long it stood still before", () => {
  let calls = 0;
  const result = callBounded(BOUND_MS, () => {
    calls += 1;
    if (calls === 1) standStill(60_000);
    for (;;);
  });
  assert.deepEqual(result, { done: false });
  assert.ok(calls >= 2);
});

test("work that stood still in a pause of 150 ms is done again", () => {
  let calls = 0;
  const result = callBounded(BOUND_MS, () => {
    calls += 1;
    if (calls === 1) standStill(150);
    return "done";
  });
  assert.deepEqual([result, calls], [{ done: true, value: "done" }, 2]);
});

test("work within its bound ends on a fifth of a processor", () => {
  const result = callBounded(BOUND_MS, () => {
    // After each millisecond of work, the machine does something else for four.
    work(BOUND_MS / 2, () => standStill(4));
    return "done";
  });
  assert.deepEqual(result, { done: true, value: "done" });
});

test("a machine that stands still all the time says nothing of the work", () => {
  assert.throws(() => callBounded(BOUND_MS, () => standStill(60_000)), StarvedError);
});

test("errors of the work are thrown on", () => {
  const error = new RangeError("too deep");
  assert.throws(
    () =>
      callBounded(BOUND_MS, () => {
        throw error;
      }),
    error,
  );
});

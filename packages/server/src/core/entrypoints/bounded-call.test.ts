import assert from "node:assert/strict";
import { test } from "node:test";
import { callBounded } from "./bounded-call.ts";

const TIMEOUT_MS = 100;
const word = new Int32Array(new SharedArrayBuffer(4));
/** As a machine that does something else. */
const standStill = (): unknown => Atomics.wait(word, 0, 0, 60_000);

test("work that takes its time is ended, once", () => {
  let calls = 0;
  const result = callBounded(TIMEOUT_MS, () => {
    calls += 1;
    for (;;);
  });
  assert.deepEqual([result, calls], [{ done: false }, 1]);
});

test("work that got no processor in its time is done again", () => {
  let calls = 0;
  const result = callBounded(TIMEOUT_MS, () => {
    calls += 1;
    if (calls < 3) standStill();
    return "done";
  });
  assert.deepEqual([result, calls], [{ done: true, value: "done" }, 3]);
});

test("a machine that stands still all the time is not waited for", () => {
  const begun = performance.now();
  assert.deepEqual(callBounded(TIMEOUT_MS, standStill), { done: false });
  assert.ok(performance.now() - begun < 10 * TIMEOUT_MS);
});

test("errors of the work are thrown on", () => {
  const error = new RangeError("too deep");
  assert.throws(
    () =>
      callBounded(TIMEOUT_MS, () => {
        throw error;
      }),
    error,
  );
});

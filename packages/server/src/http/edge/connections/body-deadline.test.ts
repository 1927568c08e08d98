import assert from "node:assert/strict";
import { test } from "node:test";
import { beginBody, watchBody, type BodySample } from "./body-deadline.ts";

/** Looks every second at a body of which `bytesAt` has come by then; the second at which it is late, or null. */
function lateAt(
  seconds: number,
  bytesAt: (second: number) => number,
  extra: (second: number) => Partial<BodySample> = () => ({}),
): number | null {
  let progress = beginBody(0);
  for (let second = 1; second <= seconds; second += 1) {
    const bytesRead = Math.floor(bytesAt(second));
    const next = watchBody(progress, {
      now: second * 1_000,
      bytesRead,
      hasData: bytesRead > 0,
      isHeldBack: false,
      isUpload: false,
      ...extra(second),
    });
    if (next === "late") return second;
    progress = next;
  }
  return null;
}

const KIB = 1_024;
const upload = () => ({ isUpload: true });

test("the first byte has 10 s, and what follows is averaged over 10 s from then", () => {
  assert.equal(
    lateAt(60, () => 0),
    10,
  );
  assert.equal(
    lateAt(60, (second) => (second < 9 ? 0 : 1)),
    19,
  );
  assert.equal(
    lateAt(60, (second) => second * KIB),
    null,
  );
  assert.equal(
    lateAt(60, (second) => second * (KIB - 100)),
    11,
  );
});

test("a pause within a window is made up for by what comes before its end", () => {
  assert.equal(
    lateAt(60, (second) => Math.floor(second / 10) * 20 * KIB + 1),
    null,
  );
});

test("a sender that stops is late at the end of the next window", () => {
  assert.equal(
    lateAt(60, (second) => Math.min(second, 20) * 10 * KIB),
    31,
  );
});

test("an upload has to come with 16 KiB/s after 30 s", () => {
  assert.equal(
    lateAt(120, (second) => second * 2 * KIB, upload),
    41,
  );
  assert.equal(
    lateAt(120, (second) => second * 16 * KIB, upload),
    null,
  );
  assert.equal(
    lateAt(120, (second) => second * 2 * KIB),
    null,
  );
});

test("time in which the server does not read is not counted", () => {
  const held = (second: number) => ({ isHeldBack: second < 100, isUpload: true });
  assert.equal(
    lateAt(99, () => 64 * KIB, held),
    null,
  );
  assert.equal(
    lateAt(200, () => 64 * KIB, held),
    109,
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  beginBody,
  watchBody,
  type BodyProgress,
  type BodySample,
} from "../../src/http/edge/connections/body-deadline.ts";

const LOOK_MS = 100;

/** When a body is late whose bytes come as `bytesAt` says, in milliseconds after its headers; null: not within two minutes. */
function lateAt(bytesAt: (ms: number) => number, more: Partial<BodySample> = {}): number | null {
  let progress: BodyProgress = beginBody(0);
  for (let now = LOOK_MS; now <= 120_000; now += LOOK_MS) {
    const bytesRead = bytesAt(now);
    const sample = { now, bytesRead, hasData: bytesRead > 0, isHeldBack: false, isUpload: false, ...more };
    const looked = watchBody(progress, sample);
    if (looked === "late") return now;
    progress = looked;
  }
  return null;
}

test("the first byte of a body has 10 s", () => {
  assert.equal(
    lateAt(() => 0),
    10_000,
  );
  assert.equal(
    lateAt((ms) => (ms > 9_900 ? 1 : 0)),
    20_000,
  );
});

test("a body comes with 1 KiB/s, averaged over 10 s", () => {
  assert.equal(
    lateAt((ms) => ms * 1.023),
    10_000 + LOOK_MS,
  );
  assert.equal(
    lateAt((ms) => ms * 1.025),
    null,
  );
  // All of a window's bytes at its end are as good.
  assert.equal(
    lateAt((ms) => 1 + Math.floor(ms / 10_000) * 10_240),
    null,
  );
  assert.equal(
    lateAt((ms) => Math.min(ms, 45_000) * 2),
    50_000 + LOOK_MS,
  );
});

test("an upload comes with 16 KiB/s once it has had 30 s", () => {
  const isUpload = true;
  assert.equal(
    lateAt((ms) => ms * 16.5, { isUpload }),
    null,
  );
  assert.equal(
    lateAt((ms) => ms * 16, { isUpload }),
    40_000 + LOOK_MS,
  );
  assert.equal(
    lateAt((ms) => ms, { isUpload }),
    10_000 + LOOK_MS,
  );
});

test("a body that the server itself holds back is never late", () => {
  assert.equal(
    lateAt(() => 0, { isHeldBack: true }),
    null,
  );
  assert.equal(
    lateAt(() => 1, { isHeldBack: true }),
    null,
  );
});

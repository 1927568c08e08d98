import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decideWithdraw, dispositionOf, hasInputAfter, nextSequence, type Unreceived } from "./stream.ts";

const stream = (
  lastSequence: number,
  receivedSequence: number,
  withdrawnSequences: number[] | null = null,
): Unreceived => ({ lastSequence, receivedSequence, withdrawnSequences });

describe("input that no run has received", () => {
  test("the next record is the first one after that was not withdrawn, there or not", () => {
    assert.equal(nextSequence(stream(5, 2), 2), 3);
    assert.equal(nextSequence(stream(5, 2, [3]), 2), 4);
    assert.equal(nextSequence(stream(5, 2, [5, 3, 4]), 2), 6);
    assert.equal(nextSequence(stream(5, 2, [3, 5]), 3), 4);
    assert.equal(nextSequence(stream(5, 2, [1]), 2), 3);
  });

  test("is there when one after the turn's beginning was neither received nor withdrawn", () => {
    assert.equal(hasInputAfter(stream(2, 1), 1), true);
    assert.equal(hasInputAfter(stream(2, 0), 2), false);
    assert.equal(hasInputAfter(stream(2, 0, [2]), 1), false);
    assert.equal(hasInputAfter(stream(3, 0, [2]), 1), true);
    assert.equal(hasInputAfter(stream(3, 2, [3]), 1), false);
  });
});

describe("a withdrawal", () => {
  const record = (sequence: number, withdrawnAt: number | null = null) => ({ sequence, withdrawnAt });

  test("is noted with those beyond the received ones, and once", () => {
    assert.deepEqual(decideWithdraw(stream(5, 2), record(4)), { kind: "withdraw", withdrawnSequences: [4] });
    assert.deepEqual(decideWithdraw(stream(5, 2, [1, 5]), record(3)), {
      kind: "withdraw",
      withdrawnSequences: [5, 3],
    });
    assert.deepEqual(decideWithdraw(stream(5, 2, [4]), record(4, 7)), { kind: "none" });
    assert.deepEqual(decideWithdraw(stream(5, 4, [3]), record(3, 7)), { kind: "none" });
  });

  test("is refused for what a run has received", () => {
    assert.deepEqual(decideWithdraw(stream(5, 2), record(2)), { kind: "refuse" });
    assert.deepEqual(decideWithdraw(stream(5, 2), record(1)), { kind: "refuse" });
  });
});

test("an input has begun a turn, or was delivered, or is queued or steers", () => {
  const delivered = new Set([4]);
  for (const steer of [false, true]) {
    assert.equal(dispositionOf({ startsTurn: true, delivered, steer }, 4), "started");
    assert.equal(dispositionOf({ startsTurn: false, delivered, steer }, 4), "delivered");
    assert.equal(dispositionOf({ startsTurn: false, delivered, steer }, 5), steer ? "steered" : "queued");
  }
});

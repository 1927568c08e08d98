import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSpareShare } from "./spare-share.ts";

const SHARES = { spare: 0.3, busy: 0.02 };

function shareOf(idle: number, all: number): number {
  const times = [
    { idle: 5_000, all: 90_000 },
    { idle: 5_000 + idle, all: 90_000 + all },
  ];
  const share = createSpareShare(SHARES, () => times.shift() ?? { idle: 0, all: 0 });
  return share();
}

describe("the share of work that nobody waits for", () => {
  test("is large while the machine is idle", () => assert.equal(shareOf(500, 1_000), 0.3));
  test("is small while it is not", () => assert.equal(shareOf(100, 1_000), 0.02));
  test("is large where the machine does not tell", () => assert.equal(shareOf(0, 0), 0.3));
  test("is of the time since the last call", () => {
    const times = [
      { idle: 0, all: 0 },
      { idle: 0, all: 1_000 },
      { idle: 900, all: 2_000 },
    ];
    const share = createSpareShare(SHARES, () => times.shift() ?? { idle: 0, all: 0 });
    assert.deepEqual([share(), share()], [0.02, 0.3]);
  });
});

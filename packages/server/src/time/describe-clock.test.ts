import assert from "node:assert/strict";
import { test } from "node:test";
import { describeClock } from "./describe-clock.ts";

const clockAhead = (ms: number) => ({
  isWallClockWrong: () => Math.abs(ms) > 2_000,
  wallClockAheadMs: () => ms,
});

test("a clock that is right needs no word; a wrong one is named with its side, and with what to do", () => {
  assert.equal(describeClock(clockAhead(900)), null);
  assert.match(describeClock(clockAhead(300_000)) ?? "", /300 s ahead of PostgreSQL's.*synchronize both/);
  assert.match(describeClock(clockAhead(-12_000)) ?? "", /12 s behind PostgreSQL's/);
});

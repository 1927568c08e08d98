import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { createFairTurns } from "../fair-turns.ts";
import { takeReportTurn } from "./report-turn.ts";

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => mock.timers.reset());

const flood = { environmentId: "flood" };
const other = { environmentId: "other" };
const BYTES = 1_000_000;

function floodedTurns() {
  const turns = createFairTurns(() => 0, 1_000);
  assert.equal(turns.enter("other", 1), undefined);
  assert.equal(takeReportTurn(turns, [flood], new Map([["flood", BYTES]])), undefined);
  return turns;
}

describe("the answer to a report", () => {
  test("waits while its environment has had more than its share", async () => {
    const turns = floodedTurns();
    const turn = takeReportTurn(turns, [flood, flood], new Map());
    assert.ok(turn !== undefined);
    for (let n = 0; n < 100; n += 1) mock.timers.tick(2);
    await turn;
  });

  test("does not wait when it is of another environment, or of several", () => {
    const turns = floodedTurns();
    assert.equal(takeReportTurn(turns, [other], new Map()), undefined);
    assert.equal(takeReportTurn(turns, [flood, other], new Map([["flood", BYTES]])), undefined);
    assert.equal(turns.waiting(), 0);
  });

  test("does not wait when an environment is alone", () => {
    const turns = createFairTurns(() => 0, 1_000);
    for (let n = 0; n < 100; n += 1)
      assert.equal(takeReportTurn(turns, [flood], new Map([["flood", BYTES]])), undefined);
  });
});

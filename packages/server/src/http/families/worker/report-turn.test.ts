import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, test } from "node:test";
import type { Uuid } from "@keelson/contract";
import { createFairTurns } from "../../edge/fair-turns.ts";
import { takeReportTurn } from "./report-turn.ts";

const flood = { environmentId: "flood" as Uuid<"env"> };
const other = { environmentId: "other" as Uuid<"env"> };
const BYTES = 1_000_000;

function floodedTurns() {
  const turns = createFairTurns(() => 0);
  assert.equal(turns.enter(other.environmentId, 1), undefined);
  assert.equal(takeReportTurn(turns, [flood], new Map([[flood.environmentId, BYTES]])), undefined);
  return turns;
}

describe("the answer to a report", () => {
  test("waits while its environment has had more than its share", async () => {
    const turns = floodedTurns();
    const answered = takeReportTurn(turns, [flood, flood], new Map());
    assert.ok(answered !== undefined);
    assert.equal(await Promise.race([answered.then(() => "answered"), turn("waits")]), "waits");
    await answered;
  });

  test("does not wait when it is of another environment, or of several", () => {
    const turns = floodedTurns();
    assert.equal(takeReportTurn(turns, [other], new Map()), undefined);
    assert.equal(takeReportTurn(turns, [flood, other], new Map([[flood.environmentId, BYTES]])), undefined);
    assert.equal(turns.waiting(), 0);
  });

  test("does not wait when an environment is alone", () => {
    const turns = createFairTurns(() => 0);
    for (let n = 0; n < 100; n += 1)
      assert.equal(takeReportTurn(turns, [flood], new Map([[flood.environmentId, BYTES]])), undefined);
  });
});

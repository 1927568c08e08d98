import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCHEDULE_STATUSES } from "@keelson/contract";
import { decideDueSlots, decideFirstSlot, SCHEDULE_EDGES, scheduleStatus, taskNotFound } from "./schedule.ts";

const everyTen = (after: number): number => Math.floor(after / 10) * 10 + 10;

describe("due slots", () => {
  for (const [what, now, limit, expected] of [
    ["none before the time", 9, 5, { missed: [], newest: null, next: 10 }],
    ["the one whose time has come", 10, 5, { missed: [], newest: 10, next: 20 }],
    ["all up to now, of which the newest fires", 35, 5, { missed: [10, 20], newest: 30, next: 40 }],
    ["no more than asked for, and then none fires", 35, 2, { missed: [10, 20], newest: null, next: 30 }],
    ["as many as asked for, when these are all", 35, 3, { missed: [10, 20], newest: 30, next: 40 }],
  ] as const) {
    it(`are ${what}`, () => assert.deepEqual(decideDueSlots(10, now, limit, everyTen), expected));
  }

  it("end with the expression", () => {
    assert.deepEqual(
      decideDueSlots(10, 99, 5, () => null),
      { missed: [], newest: 10, next: null },
    );
  });

  it("begin after now, and after what another server has settled", () => {
    assert.equal(decideFirstSlot(15, null, everyTen), 20);
    assert.equal(decideFirstSlot(19, 20, everyTen), 30);
  });
});

describe("the status of a schedule", () => {
  const fault = taskNotFound("report", "20261120.1", 0);

  it("is what its owner says, unless it cannot start runs", () => {
    assert.equal(scheduleStatus({ active: true, fault: null }), "active");
    assert.equal(scheduleStatus({ active: true, fault }), "errored");
    assert.equal(scheduleStatus({ active: false, fault }), "inactive");
  });

  it("can be left from every state", () => {
    for (const status of SCHEDULE_STATUSES) assert.ok(SCHEDULE_EDGES.some(({ from }) => from === status));
  });
});

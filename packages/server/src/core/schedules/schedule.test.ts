import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decideActivation,
  decideDefined,
  decideDeployed,
  decideDueSlots,
  decideFired,
  decideFirstSlot,
  decideUndeclared,
  hasSlots,
  SCHEDULE_EDGES,
  SCHEDULE_STATES,
  taskNotFound,
  type ScheduleStanding,
  type ScheduleState,
} from "./schedule.ts";

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

describe("the state of a schedule", () => {
  const fault = taskNotFound("report", "20261120.1", 0);
  const edges = new Set<string>(SCHEDULE_EDGES.map(({ from, to }) => `${from} ${to}`));
  const seen = new Set<string>();
  const note = (from: ScheduleState, standing: ScheduleStanding | null): ScheduleStanding | null => {
    if (standing !== null && standing.status !== from) seen.add(`${from} ${standing.status}`);
    return standing;
  };

  for (const status of SCHEDULE_STATES) {
    it(`${status} becomes what a definition says, unless its task cannot be started`, () => {
      assert.deepEqual(note(status, decideDefined(true, null)), { status: "active", fault: null });
      assert.deepEqual(note(status, decideDefined(true, fault)), { status: "errored", fault });
      assert.deepEqual(note(status, decideDefined(false, fault)), { status: "inactive", fault });
    });

    it(`${status} ${hasSlots(status) ? "follows what became of its slot" : "has no slot that fires"}`, () => {
      if (!hasSlots(status)) return assert.throws(() => decideFired(status, null), /fired/);
      assert.deepEqual(note(status, decideFired(status, null)), { status: "active", fault: null });
      assert.deepEqual(note(status, decideFired(status, fault)), { status: "errored", fault });
    });

    it(`${status} follows a promotion as far as it is there and active`, () => {
      const gone = note(status, decideDeployed(status, fault));
      const there = note(status, decideDeployed(status, null));
      const expected = { active: "errored", errored: "errored", inactive: "inactive", removed: undefined };
      assert.equal(gone?.status, expected[status]);
      assert.equal(there?.status, { ...expected, active: "active", errored: "active" }[status]);
      if (status !== "removed") assert.deepEqual([gone?.fault, there?.fault], [fault, null]);
      if (decideUndeclared(status) === "remove") seen.add(`${status} removed`);
    });

    it(`${status} is changed by a caller who says otherwise`, () => {
      assert.equal(decideActivation(status, true), hasSlots(status) ? "none" : "change");
      assert.equal(decideActivation(status, false), hasSlots(status) ? "change" : "none");
    });
  }

  it("moves along the edges that are told, and along each of them", () => {
    assert.deepEqual([...seen].sort(), [...edges].sort());
  });
});

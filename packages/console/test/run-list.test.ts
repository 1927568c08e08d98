// The rows of the page of runs, without a browser: what pages add, and what waits to be shown.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Run, RunEvent } from "@keelson/contract";
import { filterEvents } from "../src/features/runs/filter-events.ts";
import { createRunEvents } from "../src/features/runs/run-events.ts";
import { readRunFilters, toRunQuery } from "../src/features/runs/run-filters.ts";
import { createRunList, type RunList } from "../src/features/runs/run-list.ts";
import { newSeed } from "../../server/test/support/seeded-random.ts";

fc.configureGlobal({ seed: newSeed() });

const run = (number: number, status: Run["status"] = "succeeded"): Run =>
  ({ id: `run_${String(number).padStart(6, "0")}`, status, tags: [] }) as unknown as Run;

const shown = (list: RunList): number[] =>
  Array.from({ length: list.length }, (_, index) => Number(list.at(index)?.id.slice(4)));

/** A server with these runs, newest first. */
const pageOf = (numbers: readonly number[], limit: number, cursor: string | null = null) => {
  const after = cursor === null ? Number.POSITIVE_INFINITY : Number(cursor);
  const found = numbers.filter((number) => number < after).toSorted((a, b) => b - a);
  const page = found.slice(0, limit);
  return {
    runs: page.map((number) => run(number)),
    next_cursor: found.length > limit ? String(page.at(-1)) : null,
  };
};

describe("the rows of a list of runs", () => {
  test("what is new waits until it is asked for", () => {
    const list = createRunList();
    list.readNewest(pageOf([1, 2, 3], 10));
    list.readNewest(pageOf([1, 2, 3, 4, 5], 10));
    assert.deepEqual([shown(list), list.newCount], [[3, 2, 1], 2]);
    list.showNew();
    assert.deepEqual([shown(list), list.newCount], [[5, 4, 3, 2, 1], 0]);
  });

  test("a row changes where it stands, and stays the same while nothing changes", () => {
    const list = createRunList();
    list.readNewest({ runs: [run(2), run(1, "running")], next_cursor: null });
    const before = list.at(0);
    list.readNewest({ runs: [run(2), run(1, "failed")], next_cursor: null });
    assert.equal(list.at(0), before);
    assert.equal(list.at(1)?.status, "failed");
  });

  test("rows that left the chosen statuses go when new ones come", () => {
    const list = createRunList();
    list.readNewest({ runs: [run(2, "running"), run(1, "running")], next_cursor: null });
    list.update([run(1, "succeeded")]);
    assert.deepEqual(shown(list), [2, 1]);
    list.readNewest({ runs: [run(3, "running"), run(2, "running")], next_cursor: null });
    list.showNew(["running"]);
    assert.deepEqual(shown(list), [3, 2]);
  });

  test("begins anew when so much is new that the rows would have a gap", () => {
    const list = createRunList();
    list.readNewest(pageOf([1, 2, 3], 2));
    list.readNewest(pageOf([1, 2, 3, 4, 5, 6], 2));
    assert.deepEqual([shown(list), list.newCount], [[3, 2], null]);
    list.showNew();
    assert.deepEqual([shown(list), list.newCount, list.cursor], [[6, 5], 0, "5"]);
  });

  test("passes over an older page of before it began anew", () => {
    const list = createRunList();
    list.readNewest(pageOf([1, 2, 3], 2));
    const late = pageOf([1, 2, 3], 2, "2");
    list.readNewest(pageOf([1, 2, 3, 4, 5, 6], 2));
    list.showNew();
    list.addOlder(late, "2");
    assert.deepEqual(shown(list), [6, 5]);
  });

  test("names the live rows that the newest page does not tell of", () => {
    const list = createRunList();
    list.readNewest({ runs: [run(3, "queued"), run(2, "running"), run(1)], next_cursor: null });
    assert.deepEqual(list.liveIds(0, 3), []);
    list.readNewest({ runs: [run(3, "queued")], next_cursor: null });
    assert.deepEqual(list.liveIds(0, 3), ["run_000002"]);
    assert.deepEqual(list.liveIds(2, 3), []);
  });

  test("whatever is read in whatever order, no row is missing or doubled in the end", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("create" as const), count: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ kind: fc.constantFrom("newest" as const, "older" as const, "show" as const) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), fc.array(step, { maxLength: 60 }), (first, steps) => {
        const numbers = Array.from({ length: first }, (_, index) => index + 1);
        const list = createRunList();
        const older = (): void => {
          const { cursor } = list;
          if (typeof cursor === "string") list.addOlder(pageOf(numbers, 7, cursor), cursor);
        };
        list.readNewest(pageOf(numbers, 4));
        for (const one of steps)
          if (one.kind === "create")
            for (let count = 0; count < one.count; count += 1) numbers.push(numbers.length + 1);
          else if (one.kind === "newest") list.readNewest(pageOf(numbers, 4));
          else if (one.kind === "older") older();
          else list.showNew();
        list.readNewest(pageOf(numbers, 4));
        list.showNew();
        while (list.cursor !== null) older();
        assert.deepEqual(
          shown(list),
          numbers.toSorted((a, b) => b - a),
        );
      }),
    );
  });
});

describe("the events of a run as they are heard", () => {
  const event = (number: number): RunEvent =>
    ({ id: String(number), kind: "run.queued", severity: "info" }) as RunEvent;

  test("are each there once, and the oldest are let go past a number", () => {
    const events = createRunEvents(10);
    events.add([event(1), event(2)]);
    events.add([event(2), event(3)]);
    assert.deepEqual([events.all.map(({ id }) => id), events.dropped], [["1", "2", "3"], 0]);
    for (let number = 4; number <= 40; number += 1) events.add([event(number)]);
    assert.ok(events.all.length <= 11);
    assert.equal(events.all.at(-1)?.id, "40");
    assert.equal(events.all.length + events.dropped, 40);
  });

  test("keep what moved the run, however many others come", () => {
    const events = createRunEvents(10);
    events.add([event(1)]);
    for (let number = 2; number <= 40; number += 1)
      events.add([{ ...event(number), kind: "step.completed" }]);
    assert.deepEqual([events.all[0]?.id, events.all.at(-1)?.id], ["1", "40"]);
    assert.ok(events.all.length <= 11);
    assert.equal(events.all.length + events.dropped, 40);
  });

  test("begin where the server still has them", () => {
    const events = createRunEvents();
    events.skipTo("7");
    events.add([event(7), event(8)]);
    assert.deepEqual([events.all.map(({ id }) => id), events.dropped], [["8"], 7]);
  });

  test("are chosen by kind and severity", () => {
    const step = { ...event(2), kind: "step.failed", severity: "error" } as RunEvent;
    const all = [event(1), step];
    const chosen = (kind?: string, severity?: "warn" | "error") =>
      filterEvents(all, { kind, severity }).map(({ id }) => id);
    assert.deepEqual(
      [chosen(), chosen("step"), chosen("run"), chosen(undefined, "warn")],
      [["1", "2"], ["2"], ["1"], ["2"]],
    );
    assert.deepEqual(chosen("ste"), []);
  });
});

describe("the filters of an address", () => {
  const cases: readonly [search: Record<string, unknown>, filters: object][] = [
    [{}, {}],
    [{ status: "failed" }, { status: ["failed"] }],
    [{ status: ["failed", "done", "failed"] }, { status: ["failed"] }],
    [{ tag: 7 }, { tag: ["7"] }],
    [
      { tag: ["a", "", "a"], task: "x" },
      { tag: ["a"], task: "x" },
    ],
    [{ last: "24h" }, { last: "24h" }],
    [{ last: "constructor", created_after: "never", session_id: { a: 1 } }, {}],
    [{ created_before: "2026-01-01T00:00:00+01:00" }, { created_before: "2025-12-31T23:00:00.000Z" }],
  ];
  for (const [search, filters] of cases)
    test(`reads ${JSON.stringify(search)}`, () => assert.deepEqual(readRunFilters(search), filters));

  test("counts a range back from now, unless its beginning is given", () => {
    const now = Date.parse("2026-01-02T00:00:00Z");
    assert.deepEqual(toRunQuery({ last: "24h", task: "x" }, now), {
      created_after: "2026-01-01T00:00:00.000Z",
      task: "x",
    });
    const created_after = "2026-01-01T12:00:00.000Z";
    assert.deepEqual(toRunQuery({ last: "24h", created_after }, now), { created_after });
  });
});

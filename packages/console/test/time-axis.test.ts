// Where a run's timeline draws what was when, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Trace } from "../src/features/runs/trace/build-trace.ts";
import type { Span, SpanKind } from "../src/features/runs/trace/span.ts";
import { axisOf, idleStretches, placeOf, ticksOfAxis } from "../src/features/runs/trace/time-axis.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGIN = Date.parse("2026-11-20T09:15:00Z");

type Drawn = readonly [kind: SpanKind, fromMs: number, toMs: number | null];
/** Spans whose times are counted from the beginning; what goes on does until `nowMs`. */
function layoutOf(drawn: readonly Drawn[], nowMs = 0): Trace {
  const spans = drawn.map(([kind, fromMs, toMs], index): Span => ({
    ...{ key: String(index), kind, label: kind, tone: "neutral", runId: "run_x" },
    ...{ attempt: null, position: null, events: [], parts: [] },
    fromMs: BEGIN + fromMs,
    toMs: toMs === null ? null : BEGIN + toMs,
  }));
  const ends = drawn.map(([, fromMs, toMs]) => toMs ?? Math.max(fromMs, nowMs));
  return { fromMs: BEGIN, toMs: BEGIN + Math.max(1, ...ends), spans };
}
const idleOf = (drawn: readonly Drawn[], nowMs?: number): number[][] =>
  idleStretches(layoutOf(drawn, nowMs)).map(({ fromMs, toMs }) => [fromMs - BEGIN, toMs - BEGIN]);

const SLEPT: readonly Drawn[] = [
  ["queued", 0, 20],
  ["attempt", 20, 120],
  ["step", 30, 60],
  ["wait", 110, 2 * DAY],
  ["suspended", 120, 2 * DAY],
  ["queued", 2 * DAY, 2 * DAY + 30],
  ["attempt", 2 * DAY + 30, 2 * DAY + 130],
];

describe("idle time of a run", () => {
  const cases: readonly [name: string, drawn: readonly Drawn[], idle: number[][], nowMs?: number][] = [
    ["is a suspension of days between attempts of milliseconds", SLEPT, [[120, 2 * DAY + 30]]],
    [
      "goes on while the run sleeps",
      [
        ["attempt", 0, 100],
        ["suspended", 100, null],
      ],
      [[100, DAY]],
      DAY,
    ],
    [
      "is a delay before the first attempt",
      [
        ["delayed", 0, HOUR],
        ["attempt", HOUR, HOUR + 50],
      ],
      [[0, HOUR]],
    ],
    [
      "is none while a run works without a pause",
      [
        ["queued", 0, 10],
        ["attempt", 10, null],
      ],
      [],
      DAY,
    ],
    [
      "is none while a child works",
      [
        ["attempt", 0, 50],
        ["suspended", 50, DAY],
        ["child", 50, DAY],
        ["attempt", DAY, DAY + 50],
      ],
      [],
    ],
    [
      "is none where nothing has worked yet",
      [
        ["delayed", 0, DAY],
        ["queued", DAY, null],
      ],
      [],
      2 * DAY,
    ],
    [
      "is none that is hardly longer than the work",
      [
        ["attempt", 0, 10_000],
        ["suspended", 10_000, 50_000],
        ["attempt", 50_000, 50_001],
      ],
      [],
    ],
    [
      "is none of less than a second",
      [
        ["attempt", 0, 10],
        ["suspended", 10, 1010],
        ["attempt", 1010, 1020],
      ],
      [],
    ],
    [
      "is told apart by what worked in between",
      [
        ["attempt", 0, 10],
        ["attempt", HOUR, HOUR + 10],
        ["attempt", DAY, DAY + 10],
      ],
      [
        [10, HOUR],
        [HOUR + 10, DAY],
      ],
    ],
    [
      "counts what worked at the same time once",
      [
        ["attempt", 0, 1000],
        ["step", 0, 1000],
        ["child", 0, 1000],
        ["attempt", 6000, 6000],
      ],
      [[1000, 6000]],
    ],
  ];
  for (const [name, drawn, idle, nowMs] of cases)
    test(name, () => assert.deepEqual(idleOf(drawn, nowMs), idle));
});

describe("an axis with folds", () => {
  const layout = layoutOf(SLEPT);
  const axis = axisOf(layout, idleStretches(layout));
  const at = (ms: number): number => placeOf(axis, BEGIN + ms);
  const isNear = (actual: number, expected: number): void =>
    assert.ok(Math.abs(actual - expected) < 1e-9, `${actual}, not ${expected}`);

  test("gives each fold its share and the rest to the work, to scale", () => {
    isNear(at(2 * DAY + 30) - at(120), 0.08);
    isNear(at(120), (0.92 * 120) / 220);
    isNear(at(70) - at(20), at(2 * DAY + 80) - at(2 * DAY + 30));
    isNear(at(120 + (2 * DAY - 90) / 2), at(120) + 0.04);
  });

  test("is to scale without any", () => {
    const whole = axisOf(layout, []);
    isNear(placeOf(whole, BEGIN + DAY), DAY / (2 * DAY + 130));
  });

  test("has true ticks, counted from its beginning or from the end of a fold", () => {
    assert.deepEqual(
      ticksOfAxis(axis).map(({ atMs, sinceMs, isAfterFold }) => [atMs - BEGIN, sinceMs, isAfterFold]),
      [
        [0, 0, false],
        [50, 50, false],
        [100, 100, false],
        [2 * DAY + 80, 50, true],
        [2 * DAY + 130, 100, true],
      ],
    );
  });
});

/** Numbers that look random and are the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("whatever a run did, its axis keeps the order of instants, and all that is drawn in it", () => {
  const kinds = ["queued", "delayed", "attempt", "suspended", "step", "wait", "child"] as const;
  const lengths = [0, 1, 50, 900, 30_000, HOUR, 3 * DAY];
  let folded = 0;
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = createRandom(seed);
    const length = (): number => random((lengths[random(lengths.length)] as number) + 1);
    let beginning = 0;
    const drawn = Array.from({ length: 1 + random(40) }, (_, index): Drawn => {
      beginning += index === 0 ? 0 : length();
      const goesOn = random(10) === 0;
      return [kinds[random(kinds.length)] as SpanKind, beginning, goesOn ? null : beginning + length()];
    });
    const layout = layoutOf(drawn, beginning + length());
    const folds = idleStretches(layout);
    folded += folds.length;
    const axis = axisOf(layout, folds);
    assert.ok(axis.folds.length * axis.foldShare <= 0.5 + 1e-9);
    const edges = [...layout.spans, ...folds].flatMap(({ fromMs, toMs }) => [fromMs, toMs ?? layout.toMs]);
    const between = Array.from({ length: 50 }, () => layout.fromMs + random(layout.toMs - layout.fromMs + 1));
    const instants = [...edges, ...between].toSorted((a, b) => a - b);
    const places = instants.map((ms) => placeOf(axis, ms));
    for (const [index, place] of places.entries()) {
      assert.ok(place >= 0 && place <= 1, `seed ${seed}: ${place}`);
      assert.ok(index === 0 || place >= (places[index - 1] as number), `seed ${seed}: instant ${index}`);
    }
    assert.deepEqual([placeOf(axis, layout.fromMs), Math.round(1e9 * placeOf(axis, layout.toMs))], [0, 1e9]);
    for (const { atMs } of ticksOfAxis(axis)) assert.ok(atMs >= layout.fromMs && atMs <= layout.toMs);
    assert.ok(ticksOfAxis(axis).length <= 8 + folds.length);
  }
  assert.ok(folded > 100, `${folded} folds`);
});

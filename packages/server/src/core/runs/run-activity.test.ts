import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activityMinutes, MINUTE_MS, type RunTotals } from "./run-activity.ts";

const totals = (created: number, succeeded = 0, failed = 0): RunTotals => ({
  created,
  succeeded,
  failed,
  cancelled: 0,
  expired: 0,
  system_failed: 0,
});
const NOW = 100 * MINUTE_MS + 12_345;
const sample = (minute: number, of: RunTotals) => ({ at: minute * MINUTE_MS, ...of });
const created = (...args: Parameters<typeof activityMinutes>): number[] =>
  activityMinutes(...args).map((minute) => minute.created);

describe("the minutes of an activity", () => {
  test("are all there, oldest first, zeros included", () => {
    const minutes = activityMinutes([], totals(0), NOW, 3);
    assert.deepEqual(minutes, [sample(98, totals(0)), sample(99, totals(0)), sample(100, totals(0))]);
  });

  test("are the differences of samples, the last one up to now", () => {
    const samples = [sample(97, totals(5, 5)), sample(99, totals(9, 6, 1)), sample(100, totals(10, 9, 1))];
    assert.deepEqual(activityMinutes(samples, totals(12, 9, 1), NOW, 4), [
      sample(97, totals(0)),
      sample(98, totals(4, 1, 1)),
      sample(99, totals(1, 3)),
      sample(100, totals(2)),
    ]);
  });

  test("begin with what a sample from long before said", () => {
    assert.deepEqual(created([sample(3, totals(1_000))], totals(1_001), NOW, 2), [0, 1]);
  });

  test("have the runs of an environment that was never sampled in the last one", () => {
    assert.deepEqual(created([], totals(7), NOW, 3), [0, 0, 7]);
  });

  test("have what a first sample within them found in the minute before it", () => {
    assert.deepEqual(created([sample(99, totals(7))], totals(8), NOW, 3), [7, 0, 1]);
  });

  test("lose nothing where a sample is missing", () => {
    const samples = [sample(96, totals(1)), sample(99, totals(6))];
    assert.deepEqual(created(samples, totals(6), NOW, 5), [0, 0, 5, 0, 0]);
  });

  test("are never less than nothing", () => {
    assert.deepEqual(created([sample(99, totals(6))], totals(4), NOW, 2), [0, 0]);
  });

  test("do not take a sample of a minute that has not begun by this clock for the past", () => {
    assert.deepEqual(created([sample(99, totals(6)), sample(101, totals(8))], totals(9), NOW, 2), [0, 3]);
  });
});

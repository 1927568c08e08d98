import assert from "node:assert/strict";
import { test } from "node:test";
import { RUN_METRICS_WINDOWS, type Uuid } from "@keelson/contract";
import { bucketTimes, metricsWindow } from "./metrics-window.ts";
import { groupOf, HOUR_MS, MINUTE_MS, rollUp, ROLLUPS_KEPT_MS, type EndedRun } from "./run-rollup.ts";

const NOW = Date.parse("2026-11-20T09:15:12.345Z");

const run = (changes: Partial<EndedRun> = {}): EndedRun => ({
  environmentId: "00000000-0000-8000-8000-000000000001" as Uuid<"env">,
  runId: "00000000-0000-8000-8000-000000000002" as Uuid<"run">,
  ...{ entrypointKind: "task", entrypoint: "report", status: "succeeded" },
  ...{ dueAt: NOW - 3_000, startedAt: NOW - 2_000, finishedAt: NOW },
  ...changes,
});

test("a run counts in its minute and its hour, for its entrypoint and for all", () => {
  const rows = rollUp([run(), run({ status: "system_failed", entrypointKind: "actor" })].map(groupOf), NOW);
  assert.deepEqual(
    rows.map(({ minutes, entrypointKind, entrypoint, at, counts }) => [
      ...[minutes, entrypointKind, entrypoint, new Date(at).toISOString().slice(11, 16)],
      ...[counts.succeeded, counts.systemFailed],
    ]),
    [
      [1, "task", "report", "09:15", 1, 0],
      [1, "all", "", "09:15", 1, 1],
      [60, "task", "report", "09:00", 1, 0],
      [60, "all", "", "09:00", 1, 1],
      [1, "actor", "report", "09:15", 0, 1],
      [60, "actor", "report", "09:00", 0, 1],
    ],
  );
});

test("a run that never started has no times, and one that is older than rows are kept counts for nothing", () => {
  const [row] = rollUp([groupOf(run({ startedAt: null, status: "expired" }))], NOW);
  assert.deepEqual([row?.counts.expired, row?.queueTimes.size, row?.durations.size], [1, 0, 0]);
  const old = run({ finishedAt: NOW - ROLLUPS_KEPT_MS[1] - MINUTE_MS });
  assert.deepEqual(
    rollUp([groupOf(old)], NOW).map(({ minutes }) => minutes),
    [60, 60],
  );
  assert.deepEqual(rollUp([groupOf(run({ finishedAt: NOW - ROLLUPS_KEPT_MS[60] - HOUR_MS }))], NOW), []);
});

test("every window has whole buckets up to now, and rows that are kept", () => {
  for (const length of RUN_METRICS_WINDOWS) {
    for (const now of [NOW, Math.floor(NOW / HOUR_MS) * HOUR_MS, Math.ceil(NOW / HOUR_MS) * HOUR_MS - 1]) {
      const window = metricsWindow(length, now);
      const times = bucketTimes(window, now);
      assert.equal(times[0], window.since);
      const last = times.at(-1) ?? 0;
      assert.ok(last <= now && now < last + window.bucketMs);
      assert.ok(times.length >= 60 && times.length <= 180, `${times.length}`);
      assert.ok(window.bucketMs % (window.minutes * MINUTE_MS) === 0);
      assert.ok(window.since % (window.listMinutes * MINUTE_MS) === 0);
      assert.ok(now - window.since <= ROLLUPS_KEPT_MS[window.minutes]);
    }
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { BULK_OUTCOMES, isTerminalRunStatus, RUN_STATUSES, type Uuid } from "@keelson/contract";
import { ALL_RUNS } from "../runs/run-filter.ts";
import { decideCancel, decideReplay, replayTime, tally, type BulkItem } from "./bulk-action.ts";
import { targetsOf } from "./bulk-targets.ts";

test("only ended runs of tasks are replayed", () => {
  for (const status of RUN_STATUSES) {
    const kind = isTerminalRunStatus(status) ? "start" : "skip";
    assert.equal(decideReplay({ status, entrypointKind: "task" }).kind, kind, status);
    assert.equal(decideReplay({ status, entrypointKind: "actor" }).kind, "refuse", status);
  }
});

test("only a running bulk action is stopped, and stopping it again changes nothing", () => {
  const kinds = (["running", "cancelled", "completed"] as const).map((status) => decideCancel(status).kind);
  assert.deepEqual(kinds, ["cancel", "none", "refuse"]);
});

test("what a replay starts is never a target of its action, whatever the clock says", () => {
  const createdAt = 1_000;
  const { createdBefore } = targetsOf(ALL_RUNS, createdAt);
  assert.ok(createdBefore !== null && createdAt < createdBefore);
  for (const now of [0, 999, 1_000, 1_001, 5_000]) assert.ok(replayTime(now, createdAt) >= createdBefore);
  assert.equal(targetsOf({ ...ALL_RUNS, createdBefore: 500 }, createdAt).createdBefore, 500);
});

test("each outcome counts once", () => {
  const runId = "00000000-0000-7000-8000-000000000000" as Uuid<"run">;
  const items = BULK_OUTCOMES.map((outcome) => ({ runId, outcome }) as BulkItem);
  assert.deepEqual(tally(items), { done: 2, skipped: 2, failed: 1 });
});

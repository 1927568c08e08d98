import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ERROR_GROUP_STATUSES, type ErrorGroupStatus, type RunFailure, type Uuid } from "@keelson/contract";
import { decideCounted, type ErrorGroupState, type UncountedSighting } from "./error-group.ts";
import { groupOf } from "./group-of.ts";

const environmentId = "0192f0c1-7a3e-7cc1-9f00-1b2c3d4e5f60" as Uuid<"env">;
const id = "0192f0c1-7a3e-8cc1-9f00-1b2c3d4e5f61" as Uuid<"err">;
const runOf = (n: number): Uuid<"run"> => `0192f0c1-7a3e-7cc1-9f00-00000000000${n}` as Uuid<"run">;

const groupIn = (status: ErrorGroupStatus): ErrorGroupState => ({
  ...{ environmentId, id, status, count: 3, tasks: ["a"], actors: [], reopenedAt: null },
  ...{ firstSeenAt: 100, lastSeenAt: 200, lastRunId: runOf(1), resolvedAt: status === "open" ? null : 250 },
});
const seen = (seenAt: number, n: number, entrypoint: string | null = "a"): UncountedSighting => ({
  ...{ environmentId, errorGroupId: id, runId: runOf(n), seenAt, entrypoint },
  entrypointKind: entrypoint === null ? null : "task",
});

describe("a failure after it", () => {
  const AFTER: Record<ErrorGroupStatus, { status: ErrorGroupStatus; reopenedAt: number | null }> = {
    open: { status: "open", reopenedAt: null },
    resolved: { status: "open", reopenedAt: 300 },
    muted: { status: "muted", reopenedAt: null },
  };
  for (const status of ERROR_GROUP_STATUSES)
    test(`makes of a group that is ${status}: ${AFTER[status].status}`, () => {
      const { count, lastSeenAt, lastRunId, ...after } = decideCounted(groupIn(status), [seen(300, 2)]);
      assert.deepEqual({ status: after.status, reopenedAt: after.reopenedAt }, AFTER[status]);
      assert.deepEqual([count, lastSeenAt, lastRunId], [4, 300, runOf(2)]);
    });
});

test("a failure from before the group was resolved opens nothing", () => {
  const after = decideCounted(groupIn("resolved"), [seen(50, 2), seen(250, 3)]);
  assert.deepEqual([after.status, after.count, after.firstSeenAt], ["resolved", 5, 50]);
});

test("tasks are named once, and a bounded number of them", () => {
  const sightings = Array.from({ length: 50 }, (_, n) => seen(300, 2, `t${n % 30}`));
  const { tasks } = decideCounted(groupIn("open"), [...sightings, seen(301, 3, null)]);
  assert.equal(tasks.length, 20);
  assert.deepEqual(tasks.slice(0, 3), ["a", "t0", "t1"]);
});

describe("the group of a failure", () => {
  const failure: RunFailure = {
    ...{ kind: "application_error", message: "no mail 12\nmore", retryable: false },
    stack: "MailError: no mail 12\n    at send (src/report.ts:18:11)",
  };

  test("has an id of its environment, which depends on nothing but the failure", () => {
    const one = groupOf(environmentId, failure);
    assert.equal(groupOf(environmentId, { ...failure, message: "no mail 13\nmore" }).id, one.id);
    assert.notEqual(groupOf(runOf(1) as string as Uuid<"env">, failure).id, one.id);
    assert.match(one.id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([one.title, one.frame], ["MailError: no mail 12", "send (src/report.ts)"]);
  });

  test("is bounded, and can be stored", () => {
    const { title, message } = groupOf(environmentId, { ...failure, message: "\0😀".repeat(5_000) });
    assert.ok(title.length <= 200 && message.length <= 2_000);
    assert.ok(!`${title}${message}`.includes("\0") && message.isWellFormed());
  });

  test("without a message is called by its kind", () =>
    assert.equal(
      groupOf(environmentId, { ...failure, message: "", stack: null }).title,
      "application_error",
    ));
});

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Uuid } from "@keelson/contract";
import type { Execution } from "./execution.ts";
import { createWrittenExecutions } from "./written-executions.ts";

const environmentId = randomUUID() as Uuid<"env">;

/** What is looked at of a row. */
const row = (fields: Partial<Execution> = {}): Execution =>
  ({
    ...{ environmentId, runId: randomUUID(), workerId: randomUUID(), metadata: null },
    ...fields,
  }) as Execution;

test("what was written is known once, with its version", () => {
  const known = createWrittenExecutions();
  const [first, second] = [row(), row()];
  known.keep([first, second], "17");
  assert.deepEqual(known.take([first]), [{ execution: first, version: "17" }]);
  assert.equal(known.take([first]), null);
});

test("of several, all are taken or none", () => {
  const known = createWrittenExecutions();
  const [first, second] = [row(), row()];
  known.keep([first], "17");
  assert.equal(known.take([first, second]), null);
  assert.equal(known.take([first])?.length, 1);
});

test("a run of another environment is not known", () => {
  const known = createWrittenExecutions();
  const one = row();
  known.keep([one], "17");
  assert.equal(known.take([{ ...one, environmentId: randomUUID() as Uuid<"env"> }]), null);
});

test("a row without a worker, one with long metadata and what is forgotten are not known", () => {
  const known = createWrittenExecutions();
  const [left, long, forgotten, all] = [
    row({ workerId: null }),
    row({ metadata: "x".repeat(4_097) }),
    row(),
    row(),
  ];
  known.keep([left, long, forgotten], "17");
  known.forget([forgotten]);
  for (const one of [left, long, forgotten]) assert.equal(known.take([one]), null);
  known.keep([all], "17");
  known.forgetAll();
  assert.equal(known.take([all]), null);
});

test("a row is known for five seconds, and its memory is free afterwards", () => {
  let now = 0;
  const known = createWrittenExecutions(() => now);
  const [early, late] = [row(), row()];
  known.keep([early], "17");
  now = 4_999;
  known.keep([late], "18");
  assert.equal(known.size(), 2);
  now = 5_000;
  assert.equal(known.take([early]), null);
  known.keep([row()], "19");
  assert.equal(known.size(), 2);
  assert.equal(known.take([late])?.length, 1);
});

test("ten thousand rows are known, and the newest stay", () => {
  const known = createWrittenExecutions(() => 0);
  const rows = Array.from({ length: 10_050 }, () => row());
  for (const one of rows) known.keep([one], "17");
  assert.equal(known.size(), 10_000);
  assert.equal(known.take([rows[0] as Execution]), null);
  assert.equal(known.take([rows.at(-1) as Execution])?.length, 1);
});

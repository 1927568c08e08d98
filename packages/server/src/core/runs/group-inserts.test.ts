import assert from "node:assert/strict";
import { it } from "node:test";
import { groupInserts } from "./group-inserts.ts";
import { NO_LINKS, type NewRun } from "./new-run.ts";

const retry = { maxAttempts: 3, initialDelayMs: 1_000, maxDelayMs: 60_000, factor: 2, jitter: true };
const RUN: NewRun = {
  id: "run-1",
  environmentId: "environment-1",
  projectId: "project-1",
  workerGroupId: "group-1",
  entrypointKind: "task",
  entrypoint: "noop",
  deploymentId: "deployment-1",
  deploymentVersion: "1",
  pinned: false,
  payload: null,
  metadata: null,
  tags: [],
  queue: "default",
  concurrencyKey: null,
  priority: 0,
  retry,
  retryText: JSON.stringify(retry),
  maxDurationMs: null,
  startAt: null,
  expiresAt: null,
  limited: false,
  clientVersion: null,
  cliVersion: null,
  sdkVersion: null,
  createdAt: 1_000,
  links: NO_LINKS,
  idempotency: null,
};

const idsOf = (...runs: Partial<NewRun>[]): string[][] => {
  const { inserts, groups } = groupInserts(runs.map((run) => ({ run: { ...RUN, ...run }, lease: null })));
  return groups.map(({ first, last }) => inserts.slice(first - 1, last).map(({ run }) => run.id));
};

it("puts runs together that differ only by what each has of its own", () => {
  const own = { payload: "{}", metadata: "{}", tags: ["a"], expiresAt: 5_000, createdAt: 2_000 };
  assert.deepEqual(
    idsOf({ id: "a" }, { id: "b", environmentId: "environment-2" }, { id: "c", ...own }, { id: "d" }),
    [["a", "c", "d"], ["b"]],
  );
});

const OTHERS: Partial<NewRun>[] = [
  { entrypointKind: "actor" },
  { entrypoint: "other" },
  { deploymentId: "deployment-2" },
  { deploymentVersion: "2" },
  { pinned: true },
  { queue: "other" },
  { priority: 1 },
  { retryText: "{}" },
  { maxDurationMs: 1 },
  { limited: true },
  { startAt: 9_000 },
  { clientVersion: "1" },
  { cliVersion: "1" },
  { sdkVersion: "1" },
];
for (const other of OTHERS)
  it(`keeps apart what differs by its ${Object.keys(other).join()}`, () =>
    assert.deepEqual(idsOf({ id: "a" }, { id: "b", ...other }, { id: "c" }), [["a", "c"], ["b"]]));

it("loses nothing of more groups than are compared with", () => {
  const runs = Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, priority: n % 40 }));
  assert.deepEqual(
    idsOf(...runs)
      .flat()
      .sort(),
    runs.map(({ id }) => id).sort(),
  );
});

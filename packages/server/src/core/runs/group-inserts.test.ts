import assert from "node:assert/strict";
import { it } from "node:test";
import type { Uuid } from "@keelson/contract";
import { groupInserts } from "./group-inserts.ts";
import { NO_LINKS, type NewRun } from "./new-run.ts";

const retry = { maxAttempts: 3, initialDelayMs: 1_000, maxDelayMs: 60_000, factor: 2, jitter: true };
const RUN: NewRun = {
  id: "run-1" as Uuid<"run">,
  environmentId: "environment-1" as Uuid<"env">,
  projectId: "project-1" as Uuid<"proj">,
  workerGroupId: "group-1" as Uuid<"wgrp">,
  entrypointKind: "task",
  entrypoint: "noop",
  deploymentId: "deployment-1" as Uuid<"dep">,
  deploymentVersion: "1",
  requirement: null,
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
  requiredIsolation: null,
  whileBusy: "enqueue",
  limited: false,
  clientVersion: null,
  cliVersion: null,
  sdkVersion: null,
  createdAt: 1_000,
  links: NO_LINKS,
  idempotency: null,
};

const idOf = (text: string) => text as Uuid<"run">;
const idsOf = (...runs: Partial<NewRun>[]): string[][] => {
  const { inserts, groups } = groupInserts(runs.map((run) => ({ run: { ...RUN, ...run }, lease: null })));
  return groups.map(({ first, last }) => inserts.slice(first - 1, last).map(({ run }) => run.id));
};

it("puts runs together that differ only by what each has of its own", () => {
  const own = { payload: "{}", metadata: "{}", tags: ["a"], expiresAt: 5_000, createdAt: 2_000 };
  assert.deepEqual(
    idsOf(
      { id: idOf("a") },
      { id: idOf("b"), environmentId: "environment-2" as Uuid<"env"> },
      { id: idOf("c"), ...own },
      { id: idOf("d") },
    ),
    [["a", "c", "d"], ["b"]],
  );
});

const OTHERS: Partial<NewRun>[] = [
  { entrypointKind: "actor" },
  { entrypoint: "other" },
  { deploymentId: "deployment-2" as Uuid<"dep"> },
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
    assert.deepEqual(idsOf({ id: idOf("a") }, { id: idOf("b"), ...other }, { id: idOf("c") }), [
      ["a", "c"],
      ["b"],
    ]));

it("loses nothing of more groups than are compared with", () => {
  const runs = Array.from({ length: 100 }, (_, n) => ({ id: idOf(`${n}`), priority: n % 40 }));
  assert.deepEqual(
    idsOf(...runs)
      .flat()
      .sort(),
    runs.map(({ id }) => id).sort(),
  );
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Uuid } from "@keelson/contract";
import { freeSlots, recommendWorkers, type GroupLoad } from "./capacity.ts";

const IDLE: GroupLoad = {
  id: "" as Uuid<"wgrp">,
  name: "",
  queued: 0,
  running: 0,
  oldestQueuedAt: null,
  workspacesRequested: 0,
  workspacesLive: 0,
  deploymentsPending: 0,
  workers: { registered: 0, active: 0, draining: 0, drained: 0, lost: 0 },
  slots: { executions: 0, workspaces: 0 },
  taken: { executions: 0, workspaces: 0 },
  size: { executions: 10, workspaces: 2 },
};

describe("the number of workers that a group is recommended", () => {
  const cases: [string, Partial<GroupLoad>, number][] = [
    ["nothing to do", {}, 0],
    ["one run", { queued: 1 }, 1],
    ["as much as one worker holds", { queued: 4, running: 6 }, 1],
    ["one more than that", { queued: 5, running: 6 }, 2],
    ["more workspaces than runs", { running: 1, workspacesRequested: 1, workspacesLive: 4 }, 3],
    ["a deployment to check and nothing else", { deploymentsPending: 3 }, 1],
    ["a group that never had a worker", { queued: 3, size: { executions: 0, workspaces: 0 } }, 3],
  ];
  for (const [name, load, workers] of cases)
    test(name, () => assert.equal(recommendWorkers({ ...IDLE, ...load }), workers));

  test("slots that are leased ahead of are not free, and not less than none", () => {
    const slots = { executions: 10, workspaces: 2 };
    assert.deepEqual(freeSlots({ slots, taken: { executions: 14, workspaces: 1 } }), {
      executions: 0,
      workspaces: 1,
    });
  });
});

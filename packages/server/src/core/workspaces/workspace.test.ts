import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MATERIALIZATION_STATUSES, WORKSPACE_STATUSES, type WorkspaceStatus } from "@keelson/contract";
import {
  decideDelete,
  decideReleased,
  decideUse,
  isHeld,
  WORKSPACE_EDGES,
  type WorkspaceDecision,
} from "./workspace.ts";

const COMMANDS: Record<string, (status: WorkspaceStatus) => WorkspaceDecision> = {
  "delete, held": (status) => decideDelete(status, true),
  "delete, not held": (status) => decideDelete(status, false),
  released: decideReleased,
  use: decideUse,
};

describe("a workspace's decisions", () => {
  const taken = new Set<string>();
  for (const [command, decide] of Object.entries(COMMANDS)) {
    for (const status of WORKSPACE_STATUSES) {
      test(`${command} moves an ${status} workspace along an edge or not at all`, () => {
        const decision = decide(status);
        if (decision.kind !== "move") return;
        assert.ok(WORKSPACE_EDGES.some(({ from, to }) => from === status && to === decision.to));
        taken.add(`${status} ${decision.to}`);
      });
    }
  }
  test("every edge is taken by some command", () => {
    assert.equal(taken.size, WORKSPACE_EDGES.length);
  });
  test("only an active one may be used", () => {
    assert.deepEqual(
      WORKSPACE_STATUSES.map((status) => decideUse(status).kind),
      ["none", "refuse", "refuse"],
    );
  });
  test("it is a worker's to change unless its materialization has ended", () => {
    assert.deepEqual(
      MATERIALIZATION_STATUSES.filter((status) => !isHeld(status)),
      ["stopped", "failed"],
    );
    assert.equal(isHeld(null), false);
  });
});

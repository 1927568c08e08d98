import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EXEC_STATUSES, PTY_STATUSES } from "@keelson/contract";
import {
  decideCancel,
  decideEnded,
  decideReleased,
  decideStarted,
  EXEC_EDGES,
  isOver,
  PTY_EDGES,
  type ProcessDecision,
  type ProcessKind,
  type ProcessStatus,
} from "./processes.ts";

const OUTCOMES = ["exited", "failed", "cancelled", "closed", "lost"] as const;
const COMMANDS: Record<string, (kind: ProcessKind, status: ProcessStatus) => ProcessDecision> = {
  started: (_kind, status) => decideStarted(status),
  cancel: decideCancel,
  ...Object.fromEntries(
    OUTCOMES.map((outcome) => [
      `ended as ${outcome}`,
      (kind: ProcessKind, status: ProcessStatus) => decideEnded(kind, status, outcome),
    ]),
  ),
  ...Object.fromEntries(
    (["stopped", "failed", "deleted"] as const).map((ending) => [
      `its materialization ${ending}`,
      (kind: ProcessKind, status: ProcessStatus) => decideReleased(kind, status, ending),
    ]),
  ),
};

for (const [kind, statuses, edges] of [
  ["exec", EXEC_STATUSES, EXEC_EDGES],
  ["pty", PTY_STATUSES, PTY_EDGES],
] as const) {
  describe(`the decisions of a process that is an ${kind}`, () => {
    const taken = new Set<string>();
    for (const [command, decide] of Object.entries(COMMANDS)) {
      for (const status of statuses) {
        test(`${command}: a ${status} one moves along an edge or not at all`, () => {
          const decision = decide(kind, status);
          if (decision.kind !== "move") return;
          assert.ok(!isOver(status), "what has ended changes");
          assert.ok(
            edges.some(({ from, to }) => from === status && to === decision.to),
            `${status} to ${decision.to}`,
          );
          taken.add(`${status} ${decision.to}`);
        });
      }
    }
    test("every edge is taken by some command", () => {
      const missing = edges.filter(({ from, to }) => !taken.has(`${from} ${to}`));
      assert.deepEqual(missing, []);
    });
  });
}

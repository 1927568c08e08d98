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
  MAX_RERUNS,
  mayRerun,
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
      (kind: ProcessKind, status: ProcessStatus) => decideEnded(kind, status, outcome, null),
    ]),
  ),
  "lost, and goes on as its kind may": (kind, status) =>
    decideEnded(kind, status, "lost", kind === "exec" ? "rerun" : "close"),
  "its machine is lost, and it goes on as its kind may": (kind, status) =>
    decideReleased(kind, status, "failed", kind === "exec" ? "rerun" : "close"),
  ...Object.fromEntries(
    (["stopped", "failed", "deleted"] as const).map((ending) => [
      `its materialization ${ending}`,
      (kind: ProcessKind, status: ProcessStatus) => decideReleased(kind, status, ending, null),
    ]),
  ),
};

describe("a command that is lost", () => {
  const lost = { onLost: "rerun", reruns: 0, controlSequence: 0 } as const;
  for (const [what, process, expected] of [
    ["is started again when it is to be", lost, true],
    ["is not, when it is not to be", { ...lost, onLost: "reject" }, false],
    ["is not, when somebody sent it a signal", { ...lost, controlSequence: 1 }, false],
    ["is started again for the last time", { ...lost, reruns: MAX_RERUNS - 1 }, true],
    ["is not, when it was lost too often", { ...lost, reruns: MAX_RERUNS }, false],
  ] as const)
    test(what, () => assert.equal(mayRerun(process), expected));

  for (const outcome of OUTCOMES)
    test(`and is to be rerun is told apart from one that ${outcome}`, () => {
      const decision = decideEnded("exec", "running", outcome, "rerun");
      assert.equal(decision.kind === "move" && decision.to === "pending", outcome === "lost");
    });
  for (const ending of ["stopped", "failed", "deleted"] as const)
    test(`and is to be rerun waits only when its machine is lost, not ${ending}`, () => {
      const decision = decideReleased("exec", "running", ending, "rerun");
      assert.equal(decision.kind === "move" && decision.to === "pending", ending === "failed");
    });
});

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
          if (decision.kind !== "move" || decision.to === status) return;
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

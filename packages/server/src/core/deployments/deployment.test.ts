import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEPLOYMENT_STATUSES } from "@keelson/contract";
import {
  decideCheck,
  decideInterruption,
  decidePromote,
  DEPLOYMENT_EDGES,
  deploymentVersion,
  duplicateIssues,
  SILENCE,
  type CheckAnswer,
} from "./deployment.ts";

const manifest = { tasks: [{ id: "a" }], actors: [{ id: "a" }] };
const both = [
  { kind: "task", declaredId: "a" },
  { kind: "actor", declaredId: "a" },
] as const;

const held = { isHeld: true, interruptions: 1 };

describe("a deployment's decisions", () => {
  const answers: CheckAnswer[] = [
    { status: "ready", entrypoints: both },
    { status: "ready", entrypoints: [] },
    { status: "failed", error: { message: "no", stack: null } },
    { status: "interrupted", error: { message: "killed", stack: null } },
  ];
  for (const status of DEPLOYMENT_STATUSES) {
    for (const answer of answers) {
      test(`a check that ends ${answer.status} moves a ${status} deployment along an edge or not at all`, () => {
        const decision = decideCheck(status, manifest, answer, { isHeld: true, interruptions: 7 });
        assert.notEqual(decision.kind, "again");
        if (decision.kind === "again") return;
        if (decision.kind === "none") return assert.notEqual(status, "pending");
        assert.ok(DEPLOYMENT_EDGES.some((edge) => edge.from === status && edge.to === decision.kind));
        assert.equal(decision.event.kind, `deployment.${decision.kind}`);
      });
    }
    test(`a ${status} deployment ${status === "ready" ? "can" : "cannot"} be promoted`, () => {
      assert.equal(decidePromote(status, false).kind, status === "ready" ? "promote" : "refuse");
    });
  }

  test("a check that infrastructure interrupts is made again, later each time, and the eighth fails it and says so", () => {
    const answer = { status: "interrupted", error: { message: "SIGKILL.", stack: null } } as const;
    const decisions = [0, 1, 2, 3, 4, 7].map((before) =>
      decideCheck("pending", manifest, answer, { isHeld: true, interruptions: before }),
    );
    assert.deepEqual(
      decisions.map((decision) => (decision.kind === "again" ? decision.delayMs : decision.kind)),
      [2_000, 8_000, 32_000, 128_000, 300_000, "failed"],
    );
    const last = decisions.at(-1);
    assert.ok(last?.kind === "failed");
    assert.match(last.error.message, /^8 checks .* interrupted by infrastructure.*SIGKILL/);
    for (const status of ["ready", "failed"] as const)
      assert.equal(decideCheck(status, manifest, answer, held).kind, "none");
  });

  test("an interruption is counted once, and what a worker found counts although the check was taken for interrupted", () => {
    const late = { isHeld: false, interruptions: 7 };
    const kinds = answers.map((answer) => decideCheck("pending", manifest, answer, late).kind);
    assert.deepEqual(kinds, ["ready", "failed", "failed", "none"]);
  });

  test("silent workers fail a deployment as infrastructure, and blame no code", () => {
    const decision = decideInterruption(SILENCE, 7);
    assert.ok(decision.kind === "failed");
    assert.match(
      decision.error.message,
      /^8 checks .* infrastructure, so nothing is known of the bundle.*not heard of for 60 s.*deploy again/,
    );
  });

  test("promoting the current deployment changes nothing", () => {
    assert.deepEqual(decidePromote("ready", true), { kind: "none" });
  });

  test("an actor does not stand in for a task of the same id", () => {
    const decision = decideCheck("pending", manifest, { status: "ready", entrypoints: [both[1]] }, held);
    assert.ok(decision.kind === "failed");
    assert.match(decision.error.message, /task "a"/);
    assert.doesNotMatch(decision.error.message, /actor/);
  });

  test("many missing entrypoints are named up to twenty", () => {
    const tasks = Array.from({ length: 50 }, (_, index) => ({ id: `t${index}` }));
    const decision = decideCheck("pending", { tasks }, { status: "ready", entrypoints: [] }, held);
    assert.ok(decision.kind === "failed");
    assert.match(decision.error.message, /task "t19" and 30 more/);
  });

  test("a version is the day in UTC and the count", () => {
    assert.equal(deploymentVersion(Date.parse("2026-11-20T23:59:59.999Z"), 12), "20261120.12");
    assert.equal(deploymentVersion(Date.parse("2026-11-21T00:00:00.000Z"), 13), "20261121.13");
  });

  test("a task and an actor may have the same id, two tasks may not", () => {
    assert.deepEqual(duplicateIssues(manifest), []);
    assert.equal(duplicateIssues({ tasks: [{ id: "a" }, { id: "a" }] })[0]?.path, "manifest.tasks.1.id");
  });
});

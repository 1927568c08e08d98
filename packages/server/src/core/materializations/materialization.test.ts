import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MATERIALIZATION_STATUSES, type MaterializationStatus } from "@keelson/contract";
import {
  decideAttach,
  decideCommit,
  decideDiscard,
  decideFailed,
  decideLive,
  decideLost,
  decideRecover,
  decideRequest,
  decideStop,
  decideStopped,
  decideTakeBack,
  decideUncommitted,
  isolates,
  MATERIALIZATION_EDGES,
  MAX_LOST_LEASES,
  type MaterializationDecision,
} from "./materialization.ts";

const COMMANDS: Record<string, (status: MaterializationStatus) => MaterializationDecision> = {
  stop: decideStop,
  live: decideLive,
  stopped: decideStopped,
  failed: decideFailed,
  "lost for the first time": (status) => decideLost(status, 0, false),
  "lost for the last time": (status) => decideLost(status, MAX_LOST_LEASES - 1, false),
  "lost after it was kept": (status) => decideLost(status, 0, true),
  uncommitted: decideUncommitted,
  recover: decideRecover,
  discard: (status) => decideDiscard(status, false),
  "discard of what was kept": (status) => decideDiscard(status, true),
  commit: decideCommit,
  "taken back": (status) => decideTakeBack(status, true),
};

describe("a materialization's decisions", () => {
  // The lease is taken by a statement.
  const taken = new Set<string>(["requested preparing"]);
  for (const [command, decide] of Object.entries(COMMANDS)) {
    for (const status of MATERIALIZATION_STATUSES) {
      test(`${command} moves a ${status} one along an edge or not at all`, () => {
        const decision = decide(status);
        if (decision.kind !== "move") return;
        assert.ok(MATERIALIZATION_EDGES.some(({ from, to }) => from === status && to === decision.to));
        taken.add(`${status} ${decision.to}`);
      });
    }
  }
  test("every edge is taken by some command", () => {
    assert.equal(taken.size, new Set(MATERIALIZATION_EDGES.map(({ from, to }) => `${from} ${to}`)).size);
  });
  test("a worker commits only what it holds", () => {
    const allowed = MATERIALIZATION_STATUSES.filter((status) => decideCommit(status).kind === "none");
    assert.deepEqual(allowed, ["preparing", "live", "stopping", "uncommitted"]);
  });
  test("a request makes one where there is none, and another where one is stopping", () => {
    assert.deepEqual(
      [null, ...MATERIALIZATION_STATUSES].map((status) => decideRequest(status).kind),
      ["create", "none", "none", "none", "again", "refuse", "create", "create"],
    );
  });
  test("a run joins what its worker has, takes what nobody has, and is refused what is another's", () => {
    const kinds = (isMine: boolean) =>
      [null, ...MATERIALIZATION_STATUSES].map((status) => decideAttach(status, isMine).kind);
    assert.deepEqual(kinds(true), [
      "create",
      "lease",
      "join",
      "join",
      "refuse",
      "refuse",
      "create",
      "create",
    ]);
    assert.deepEqual(kinds(false), [
      "create",
      "lease",
      "refuse",
      "refuse",
      "refuse",
      "refuse",
      "create",
      "create",
    ]);
  });
  test("what a worker keeps is ended by no silence", () => {
    assert.equal(decideLost("uncommitted", MAX_LOST_LEASES, true).kind, "none");
    assert.deepEqual(decideLost("stopping", 0, true), { kind: "move", to: "uncommitted" });
    assert.deepEqual(decideLost("stopping", 0, false), { kind: "move", to: "failed" });
  });
  test("what was lost is taken back from nobody who went on without it", () => {
    const kinds = MATERIALIZATION_STATUSES.map((status) => decideTakeBack(status, false).kind);
    assert.deepEqual(new Set(kinds), new Set(["none"]));
  });
  test("only namespaces are good enough for namespaces", () => {
    assert.deepEqual(
      [
        isolates("process", "process"),
        isolates("namespace", "process"),
        isolates("process", "namespace"),
        isolates("namespace", "namespace"),
      ],
      [true, true, false, true],
    );
  });
});

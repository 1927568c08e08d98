import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { classifyBoot } from "../src/deaths/classify-boot.ts";
import {
  blameFor,
  classifyHost,
  classifyProcess,
  DEATHS,
  describeDeath,
  type Death,
  type HostDeath,
  type KillCause,
} from "../src/deaths/death.ts";
import { HostBootError } from "../src/task-hosts/host-run.ts";

const base: HostDeath = {
  ...{ exitCode: null, signal: null, killCause: null, uncaught: null },
  ...{ stderrTail: "", spawnError: null, starved: false },
};

const KILL_CAUSES: (KillCause | null)[] = [
  "out_of_memory",
  "timed_out",
  "cancelled",
  "stopped",
  "unresponsive",
  "boot_timeout",
  "ticket_taken",
  "idle",
  null,
];
const ENDS: [string, Partial<HostDeath>, Death][] = [
  ["exit code 0", { exitCode: 0 }, "exit_code"],
  ["exit code 143", { exitCode: 143 }, "exit_code"],
  ["SIGKILL", { signal: "SIGKILL" }, "killed_from_outside"],
  ["SIGTERM", { signal: "SIGTERM" }, "killed_from_outside"],
  ["SIGSEGV", { signal: "SIGSEGV" }, "own_signal"],
  ["SIGABRT", { signal: "SIGABRT" }, "own_signal"],
  ["SIGINT", { signal: "SIGINT" }, "own_signal"],
  ["a spawn error", { spawnError: new Error("spawn EAGAIN") }, "not_started"],
];

/** What the agent did itself says more than how the process then ended. */
function expected(killCause: KillCause | null, starved: boolean, seen: Death): Death {
  switch (killCause) {
    case "out_of_memory":
      return "out_of_memory";
    case "timed_out":
      return "max_duration";
    case "cancelled":
      return "cancelled";
    case "stopped":
      return "stopped_by_agent";
    case "ticket_taken":
      return "ticket_taken";
    case "unresponsive":
      return starved ? "machine_overloaded" : "unresponsive";
    case "boot_timeout":
      return starved ? "machine_overloaded" : "import_too_long";
    case "idle":
    case null:
      return seen;
  }
}

describe("the death of a host", () => {
  for (const killCause of KILL_CAUSES) {
    for (const [how, end, seen] of ENDS) {
      for (const starved of [false, true]) {
        test(`by ${how}, ended by the agent: ${killCause}, starved: ${starved}`, () => {
          const death = { ...base, ...end, killCause, starved };
          assert.equal(classifyHost(death), expected(killCause, starved, seen));
          const caught = { ...death, uncaught: { message: "thrown", stack: null } };
          const blamed = killCause === "out_of_memory" ? "out_of_memory" : "uncaught_error";
          assert.equal(classifyHost(caught), blamed);
          const full = { ...death, stderrTail: "FATAL ERROR: JavaScript heap out of memory" };
          if (end.exitCode !== 0 && killCause !== "out_of_memory")
            assert.equal(classifyHost(full), "heap_exhausted");
        });
      }
    }
  }

  test("is lease_lost for a run exactly when infrastructure is to blame", () => {
    for (const killCause of KILL_CAUSES) {
      for (const [, end] of ENDS) {
        for (const starved of [false, true]) {
          const death = { ...base, ...end, killCause, starved };
          const { kind, message, retryable } = describeDeath(death, 64);
          assert.equal(kind === "lease_lost", blameFor(classifyHost(death)) === "infrastructure");
          assert.ok(retryable && message.endsWith("."), message);
        }
      }
    }
  });
});

describe("a bundle that did not come up", () => {
  const died = (extra: Partial<HostDeath>): HostBootError => new HostBootError(null, { ...base, ...extra });
  const cases: [string, unknown, string][] = [
    ["threw", new HostBootError({ message: "no", stack: null }, null), "bundle_error"],
    ["exited", died({ exitCode: 3 }), "bundle_error"],
    ["crashed by itself", died({ signal: "SIGSEGV" }), "bundle_error"],
    ["never ended its import", died({ signal: "SIGKILL", killCause: "boot_timeout" }), "bundle_error"],
    ["used too much memory", died({ signal: "SIGKILL", killCause: "out_of_memory" }), "out_of_memory"],
    ["was killed", died({ signal: "SIGKILL" }), "infrastructure"],
    ["was ended by SIGTERM", died({ signal: "SIGTERM" }), "infrastructure"],
    ["was ended by the agent's stop", died({ signal: "SIGKILL", killCause: "stopped" }), "infrastructure"],
    [
      "had no time on a core",
      died({ signal: "SIGKILL", killCause: "boot_timeout", starved: true }),
      "infrastructure",
    ],
    ["was not started", died({ spawnError: new Error("spawn ENOMEM") }), "infrastructure"],
    ["had no descriptors", new Error("too many open files"), "infrastructure"],
    ["gave no reason", new HostBootError(null, null), "infrastructure"],
  ];
  for (const [what, error, blamed] of cases) {
    test(`because it ${what}: ${blamed}`, () => {
      const outcome = classifyBoot(error, 64);
      assert.equal(outcome.blame === "infrastructure" ? outcome.blame : outcome.failure.kind, blamed);
    });
  }
});

describe("the end of a command", () => {
  const exit = { exitCode: null, signal: null, timedOut: false, error: null };
  const cases: [string, Parameters<typeof classifyProcess>[0], Death | null][] = [
    ["exit 0", { ...exit, outcome: "exited", exitCode: 0 }, null],
    ["exit 1", { ...exit, outcome: "exited", exitCode: 1 }, null],
    ["its time-out", { ...exit, outcome: "exited", signal: "SIGKILL", timedOut: true }, "max_duration"],
    ["SIGKILL", { ...exit, outcome: "exited", signal: "SIGKILL" }, "killed_from_outside"],
    ["SIGSEGV", { ...exit, outcome: "exited", signal: "SIGSEGV" }, "own_signal"],
    ["no such program", { ...exit, outcome: "failed", error: '"x": no such program' }, "command_not_found"],
    [
      "EAGAIN",
      { ...exit, outcome: "failed", error: '"x" could not be started: spawn x EAGAIN' },
      "not_started",
    ],
    [
      "a wrapper that cannot fork",
      { ...exit, outcome: "failed", error: "bwrap: Resource temporarily unavailable" },
      "not_started",
    ],
    ["the agent's stop", { ...exit, outcome: "cancelled", signal: "SIGTERM" }, "stopped_by_agent"],
    ["a closed terminal", { ...exit, outcome: "closed" }, "stopped_by_agent"],
    ["the loss of its supervisor", { ...exit, outcome: "lost", error: "gone" }, "supervisor_lost"],
  ];
  for (const [how, end, death] of cases) test(`by ${how}`, () => assert.equal(classifyProcess(end), death));
});

test("every death is somebody's", () => {
  for (const blame of Object.values(DEATHS)) assert.ok(["user_code", "infrastructure"].includes(blame));
});

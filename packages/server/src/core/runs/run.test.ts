import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  isTerminalRunStatus,
  RUN_STATUSES,
  TERMINAL_RUN_STATUSES,
  type LiveRunStatus,
  type RunStatus,
} from "@keelson/contract";
import { MAX_SETBACKS } from "../losses/losses.ts";
import {
  decideCancel,
  decideDue,
  decideExpiry,
  decideLeaseLost,
  decidePark,
  decideRelease,
  decideStart,
  decideUnpark,
  decideWaitSettled,
  RUN_EDGES,
  type Decision,
  type LiveRun,
  type Release,
} from "./run.ts";

const LIVE = RUN_STATUSES.filter((status): status is LiveRunStatus => !isTerminalRunStatus(status));
const run = (status: LiveRunStatus, attemptNumber = 1, attemptStarted = true, held = true): LiveRun => ({
  status,
  attemptNumber,
  continuations: 0,
  attemptStarted,
  held,
  resumed: false,
  setbacks: 0,
});

/** Where a decision takes a run: its new status, `none` or `refuse`. */
function outcome(decision: Decision): string {
  if (decision.kind === "end") return decision.ending.status;
  if (decision.kind === "move") return decision.to;
  return decision.kind;
}

const failure = (
  kind:
    | "application_error"
    | "payload_invalid"
    | "bundle_error"
    | "nondeterministic_replay"
    | "timed_out"
    | "lease_lost",
  retryable = true,
) => ({ outcome: "failed", failure: { kind, message: "boom", stack: null, retryable } }) as const;

describe("a cancellation", () => {
  const expected: Record<RunStatus, string> = {
    queued: "cancelled",
    running: "cancel_requested",
    waiting: "cancelled",
    retry_delayed: "cancelled",
    cancel_requested: "none",
    succeeded: "refuse",
    failed: "refuse",
    cancelled: "none",
    expired: "refuse",
    system_failed: "refuse",
  };
  for (const status of RUN_STATUSES) {
    it(`of a ${status} run leads to ${expected[status]}`, () =>
      assert.equal(outcome(decideCancel(status)), expected[status]));
  }
});

describe("the start of an attempt", () => {
  const expected: Record<LiveRunStatus, [first: string, again: string]> = {
    queued: ["refuse", "refuse"],
    running: ["running", "none"],
    waiting: ["refuse", "refuse"],
    retry_delayed: ["refuse", "refuse"],
    cancel_requested: ["cancel_requested", "none"],
  };
  for (const status of LIVE) {
    it(`of a ${status} run gives ${expected[status].join(", again ")}`, () => {
      assert.equal(outcome(decideStart(run(status, 1, false))), expected[status][0]);
      assert.equal(outcome(decideStart(run(status, 1, true))), expected[status][1]);
    });
  }
});

describe("a release", () => {
  const releases: [string, Release][] = [
    ["succeeded", { outcome: "succeeded", output: "1" }],
    ["failed", failure("application_error")],
    ["cancelled", { outcome: "cancelled" }],
    ["rejected", { outcome: "rejected" }],
    ["suspended", { outcome: "suspended" }],
    ["continued", { outcome: "continued" }],
  ];
  for (const status of LIVE) {
    for (const [name, release] of releases) {
      it(`${name} of a ${status} run`, () => {
        const running: Record<string, string> = {
          succeeded: "succeeded",
          failed: "retry_delayed",
          cancelled: "queued",
          rejected: "queued",
          suspended: "queued",
          continued: "queued",
        };
        const waiting = name === "suspended" ? "waiting" : "refuse";
        const others = status === "waiting" ? waiting : "refuse";
        const expected =
          status === "running" ? running[name] : status === "cancel_requested" ? "cancelled" : others;
        assert.equal(outcome(decideRelease(run(status), release, 3, 100)), expected);
      });
    }
  }

  it("of a failed last attempt fails the run", () =>
    assert.equal(outcome(decideRelease(run("running", 3), failure("application_error"), 3, 0)), "failed"));
  it("of a failure that says so is not retried", () =>
    assert.equal(
      outcome(decideRelease(run("running"), failure("application_error", false), 3, 0)),
      "failed",
    ));
  for (const kind of ["payload_invalid", "bundle_error", "nondeterministic_replay"] as const) {
    it(`of a ${kind} is never retried`, () =>
      assert.equal(outcome(decideRelease(run("running"), failure(kind), 3, 0)), "failed"));
  }
  it("waits as long as the failure asks, else as the policy says", () => {
    const asked = decideRelease(
      run("running"),
      { outcome: "failed", failure: { ...failure("timed_out").failure, retryAfterMs: 7 } },
      3,
      100,
    );
    const policy = decideRelease(run("running"), failure("timed_out"), 3, 100);
    assert.equal(asked.kind === "move" ? asked.retryDelayMs : null, 7);
    assert.equal(policy.kind === "move" ? policy.retryDelayMs : null, 100);
  });
  it("suspended costs no attempt, not even the last", () =>
    assert.equal(outcome(decideRelease(run("running", 3), { outcome: "suspended" }, 3, 0)), "queued"));
  it("of a run that is suspended already is refused", () => {
    const suspended = { ...run("waiting"), held: false };
    assert.equal(outcome(decideRelease(suspended, { outcome: "suspended" }, 3, 0)), "refuse");
  });
  it("continued in the last attempt queues the run a second later, and says which continuation it is", () => {
    const decision = decideRelease(
      { ...run("running", 3), continuations: 4 },
      { outcome: "continued" },
      3,
      7,
    );
    assert.ok(decision.kind === "move" && decision.continued === true);
    assert.equal(decision.retryDelayMs, 1_000);
    assert.deepEqual(decision.events, [{ kind: "run.continued", attributes: { continuation: 5 } }]);
  });
  it("handed back before it began costs no attempt", () =>
    assert.equal(outcome(decideRelease(run("running", 3, false), { outcome: "rejected" }, 3, 0)), "queued"));
  it("handed back in the last attempt after it began gets an extra attempt, and ends the run without one", () => {
    const handBack = (attempt: number): string =>
      outcome(decideRelease(run("running", attempt), { outcome: "rejected" }, 3, 0));
    assert.deepEqual([handBack(3), handBack(7), handBack(8)], ["queued", "queued", "system_failed"]);
  });
});

describe("what infrastructure takes", () => {
  const killed = "The process was killed from outside.";
  const said: [string, Release][] = [
    ["rejected with a reason", { outcome: "rejected", reason: killed }],
    ["failed as lease_lost", failure("lease_lost")],
  ];
  for (const [how, release] of said) {
    describe(`and a worker reports as ${how}`, () => {
      for (const attempt of [1, 3, 8, 100]) {
        it(`before the code began costs no attempt, not even in attempt ${attempt} of 3`, () => {
          const decision = decideRelease(run("running", attempt, false), release, 3, 100);
          assert.deepEqual(
            [outcome(decision), decision.kind === "move" && decision.setback],
            ["queued", true],
          );
        });
      }
      for (const [attempt, expected] of [
        [1, "retry_delayed"],
        [3, "retry_delayed"],
        [7, "retry_delayed"],
        [8, "system_failed"],
      ] as const) {
        it(`after it began leads attempt ${attempt} of 3 to ${expected}`, () => {
          const decision = decideRelease(run("running", attempt), release, 3, 100);
          assert.equal(outcome(decision), expected);
          if (decision.kind === "move") assert.equal(decision.retryDelayMs, 100);
        });
      }
      it("of a cancelled run cancels it", () =>
        assert.equal(outcome(decideRelease(run("cancel_requested"), release, 3, 0)), "cancelled"));
    });
  }

  it("does not give code that fails by its own fault another attempt", () =>
    assert.equal(outcome(decideRelease(run("running", 4), failure("application_error"), 3, 0)), "failed"));

  it("before the code began delays each next try longer, until there is none", () => {
    const delays: (number | string | undefined)[] = [];
    for (let setbacks = 0; setbacks < MAX_SETBACKS; setbacks += 1) {
      const decision = decideLeaseLost({ ...run("running", 1, false), setbacks }, 3, killed);
      delays.push(decision.kind === "move" ? (decision.retryDelayMs ?? 0) : outcome(decision));
    }
    const seconds = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256].map((delay) => delay * 1_000);
    assert.deepEqual(delays, [...seconds, ...Array.from({ length: 9 }, () => 300_000), "system_failed"]);
  });

  it("names its last cause when it ends a run", () => {
    const last = { ...run("running", 1, false), setbacks: MAX_SETBACKS - 1 };
    for (const decision of [
      decideLeaseLost(last, 3, killed),
      decideLeaseLost(run("running", 8), 3, killed),
    ]) {
      assert.equal(decision.kind, "end");
      assert.ok(decision.kind === "end" && decision.ending.failure?.message.includes(killed));
    }
  });
});

describe("a lost lease", () => {
  for (const status of LIVE) {
    const expected = {
      running: "queued",
      cancel_requested: "cancelled",
      waiting: "waiting",
      queued: "none",
      retry_delayed: "none",
    }[status];
    it(`of a ${status} run leads to ${expected}`, () =>
      assert.equal(outcome(decideLeaseLost(run(status), 3, "silent")), expected));
  }
  it("before the attempt began costs nothing, whatever is left", () =>
    assert.equal(outcome(decideLeaseLost(run("running", 3, false), 3, "silent")), "queued"));
  it("in the last attempt gets an extra one", () =>
    assert.equal(outcome(decideLeaseLost(run("running", 3), 3, "silent")), "queued"));
  it("in the last extra attempt ends the run as system_failed with lease_lost", () => {
    const decision = decideLeaseLost(run("running", 8), 3, "silent");
    assert.equal(outcome(decision), "system_failed");
    assert.equal(decision.kind === "end" ? decision.ending.failure?.kind : null, "lease_lost");
  });
});

describe("waiting", () => {
  const parked: Record<LiveRunStatus, string> = {
    running: "waiting",
    waiting: "none",
    cancel_requested: "none",
    queued: "refuse",
    retry_delayed: "refuse",
  };
  for (const status of LIVE) {
    it(`parks a ${status} run: ${parked[status]}`, () =>
      assert.equal(outcome(decidePark(status)), parked[status]));
    it(`is over when the code of a ${status} run does something: ${status === "waiting" ? "running" : "none"}`, () =>
      assert.equal(outcome(decideUnpark(status)), status === "waiting" ? "running" : "none"));
    it(`is over when a wait of a ${status} run settles: ${status === "waiting" ? "running or queued" : "none"}`, () => {
      const held = outcome(decideWaitSettled(run(status)));
      const suspended = outcome(decideWaitSettled({ ...run(status), held: false }));
      assert.deepEqual([held, suspended], status === "waiting" ? ["running", "queued"] : ["none", "none"]);
    });
  }
  it("is lost by nobody once the run is suspended", () =>
    assert.equal(outcome(decideLeaseLost({ ...run("waiting"), held: false }, 3, "silent")), "none"));
});

describe("time", () => {
  for (const status of LIVE) {
    it(`makes a ${status} run due: ${status === "queued" || status === "retry_delayed" ? "queued" : "none"}`, () =>
      assert.equal(
        outcome(decideDue(status)),
        status === "queued" || status === "retry_delayed" ? "queued" : "none",
      ));
    it(`expires a ${status} run that was never leased: ${status === "queued" ? "expired" : "none"}`, () =>
      assert.equal(outcome(decideExpiry(run(status, 0, false))), status === "queued" ? "expired" : "none"));
  }
  it("does not expire a run that a worker once had", () =>
    assert.equal(outcome(decideExpiry(run("queued", 1))), "none"));
});

describe("the declared edges", () => {
  it("leave no terminal status", () => {
    for (const edge of RUN_EDGES)
      assert.ok(!(TERMINAL_RUN_STATUSES as readonly string[]).includes(edge.from), edge.from);
  });

  it("are exactly those that the decisions take", () => {
    const taken = new Set<string>(["queued>running"]);
    const note = (from: RunStatus, decision: Decision): void => {
      const to = outcome(decision);
      if (to !== "none" && to !== "refuse" && to !== from) taken.add(`${from}>${to}`);
    };
    for (const status of LIVE) {
      note(status, decideCancel(status));
      note(status, decideDue(status));
      note(status, decideExpiry(run(status, 0, false)));
      note(status, decidePark(status));
      note(status, decideUnpark(status));
      note(status, decideWaitSettled(run(status)));
      note(status, decideWaitSettled({ ...run(status), held: false }));
      for (const started of [true, false]) {
        for (const attempt of [1, 3, 8]) {
          note(status, decideStart(run(status, attempt, started)));
          note(status, decideLeaseLost(run(status, attempt, started), 3, "silent"));
          for (const release of [
            { outcome: "succeeded", output: null },
            failure("application_error"),
            failure("lease_lost"),
            { outcome: "cancelled" },
            { outcome: "rejected" },
            { outcome: "suspended" },
            { outcome: "continued" },
          ] as const) {
            note(status, decideRelease(run(status, attempt, started), release, 3, 0));
          }
        }
      }
    }
    assert.deepEqual(
      [...taken].sort(),
      [...new Set(RUN_EDGES.map((edge) => `${edge.from}>${edge.to}`))].sort(),
    );
  });
});

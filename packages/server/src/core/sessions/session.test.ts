import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  RUN_STATUSES,
  SESSION_STATUSES,
  TERMINAL_RUN_STATUSES,
  type SessionOnFailure,
  type SessionStatus,
} from "@keelson/contract";
import {
  activityOf,
  decideClose,
  decideRunEnded,
  decideSessionCancel,
  decideSessionExpiry,
  SESSION_EDGES,
  type SessionDecision,
  type TurnEnd,
} from "./session.ts";

const FAILS = "its run fails or expires, and its actor does not keep sessions open";
const FAILED: TurnEnd = { status: "failed", failure: { kind: "application_error", message: "no model" } };

const COMMANDS: Record<string, (status: SessionStatus) => SessionDecision> = {
  close: (status) => decideClose(status, "enough"),
  cancel: decideSessionCancel,
  "expires_at over": decideSessionExpiry,
  [FAILS]: (status) => decideRunEnded(status, FAILED, "end").session,
};

/** What each command does to each status: the status it leads to, `=` for nothing, `!` for a refusal. */
const TABLE: Record<string, Record<SessionStatus, string>> = {
  close: { open: "closed", closed: "=", cancelled: "!", failed: "!", expired: "!" },
  cancel: { open: "cancelled", closed: "!", cancelled: "=", failed: "!", expired: "!" },
  "expires_at over": { open: "expired", closed: "=", cancelled: "=", failed: "=", expired: "=" },
  [FAILS]: { open: "failed", closed: "=", cancelled: "=", failed: "=", expired: "=" },
};

const shown = (decision: SessionDecision): string => {
  if (decision.kind === "end") return decision.status;
  return decision.kind === "none" ? "=" : "!";
};

describe("a session's decisions", () => {
  for (const [name, decide] of Object.entries(COMMANDS)) {
    test(`${name}, over every status`, () => {
      for (const status of SESSION_STATUSES)
        assert.equal(shown(decide(status)), TABLE[name]?.[status], `${name} of ${status}`);
    });
  }

  test("make exactly the edges of the state machine", () => {
    const made = Object.entries(COMMANDS).flatMap(([on, decide]) =>
      SESSION_STATUSES.flatMap((from) => {
        const decision = decide(from);
        return decision.kind === "end" ? [`${from} ${on} ${decision.status}`] : [];
      }),
    );
    assert.deepEqual(made.sort(), SESSION_EDGES.map(({ from, on, to }) => `${from} ${on} ${to}`).sort());
  });

  test("a failed run ends the open session, unless its actor keeps sessions open, and is its last failure", () => {
    const { failure } = FAILED;
    const outcomes = (onFailure: SessionOnFailure) =>
      TERMINAL_RUN_STATUSES.map((status) => {
        const end = { status, failure: status === "failed" || status === "system_failed" ? failure : null };
        const { session, lastFailure } = decideRunEnded("open", end, onFailure);
        return [status, `${shown(session)} ${lastFailure.kind}`];
      });
    assert.deepEqual(Object.fromEntries(outcomes("end")), {
      succeeded: "= clear",
      failed: "failed set",
      cancelled: "= keep",
      expired: "failed set",
      system_failed: "failed set",
    });
    assert.deepEqual(Object.fromEntries(outcomes("keep_open")), {
      succeeded: "= clear",
      failed: "= set",
      cancelled: "= keep",
      expired: "= set",
      system_failed: "= set",
    });
    assert.deepEqual(decideRunEnded("open", FAILED, "end"), {
      session: { kind: "end", status: "failed", reason: "no model" },
      lastFailure: { kind: "set", failure: { code: "application_error", message: "no model" } },
    });
    assert.deepEqual(decideRunEnded("closed", { status: "expired", failure: null }, "end"), {
      session: { kind: "none" },
      lastFailure: {
        kind: "set",
        failure: { code: "expired", message: "No worker took the run within its time to live." },
      },
    });
  });

  test("its activity is what its newest run does", () => {
    const activities = Object.fromEntries(RUN_STATUSES.map((status) => [status, activityOf(status)]));
    assert.deepEqual(
      { none: activityOf(null), ...activities },
      {
        none: "idle",
        queued: "queued",
        retry_delayed: "queued",
        running: "running",
        cancel_requested: "running",
        waiting: "waiting",
        succeeded: "idle",
        failed: "idle",
        cancelled: "idle",
        expired: "idle",
        system_failed: "idle",
      },
    );
  });
});

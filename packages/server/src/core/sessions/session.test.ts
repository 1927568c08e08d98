import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RUN_STATUSES, SESSION_STATUSES, TERMINAL_RUN_STATUSES, type SessionStatus } from "@keelson/contract";
import {
  activityOf,
  decideClose,
  decideRunEnded,
  decideSessionCancel,
  decideSessionExpiry,
  SESSION_EDGES,
  type SessionDecision,
} from "./session.ts";

const COMMANDS: Record<string, (status: SessionStatus) => SessionDecision> = {
  close: (status) => decideClose(status, "enough"),
  cancel: decideSessionCancel,
  "expires_at over": decideSessionExpiry,
  "its run fails or expires": (status) => decideRunEnded(status, "failed", "no model"),
};

/** What each command does to each status: the status it leads to, `=` for nothing, `!` for a refusal. */
const TABLE: Record<string, Record<SessionStatus, string>> = {
  close: { open: "closed", closed: "=", cancelled: "!", failed: "!", expired: "!" },
  cancel: { open: "cancelled", closed: "!", cancelled: "=", failed: "!", expired: "!" },
  "expires_at over": { open: "expired", closed: "=", cancelled: "=", failed: "=", expired: "=" },
  "its run fails or expires": { open: "failed", closed: "=", cancelled: "=", failed: "=", expired: "=" },
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

  test("a run's end fails the open session when it failed, and says why", () => {
    const outcomes = TERMINAL_RUN_STATUSES.map((status) => [
      status,
      shown(decideRunEnded("open", status, "no model")),
    ]);
    assert.deepEqual(Object.fromEntries(outcomes), {
      succeeded: "=",
      failed: "failed",
      cancelled: "=",
      expired: "failed",
      system_failed: "failed",
    });
    assert.deepEqual(decideRunEnded("open", "failed", "no model"), {
      kind: "end",
      status: "failed",
      reason: "no model",
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

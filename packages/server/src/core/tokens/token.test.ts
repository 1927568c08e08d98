import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TOKEN_STATUSES, type TokenStatus } from "@keelson/contract";
import { decideCancel, decideCompletion, decideExpiry, TOKEN_EDGES, type TokenFacts } from "./token.ts";

const NOW = 1_000_000;
const inTime = (status: TokenStatus): TokenFacts => ({ status, timeoutAt: NOW + 1 });
const overdue = (status: TokenStatus): TokenFacts => ({ status, timeoutAt: NOW });
const outcome = (decision: { kind: string; code?: string }): string => decision.code ?? decision.kind;

describe("a completion", () => {
  const expected: Record<TokenStatus, { same: string; other: string; late: string }> = {
    pending: { same: "complete", other: "complete", late: "expire" },
    completed: {
      same: "already_completed",
      other: "token_completion_conflict",
      late: "already_completed",
    },
    cancelled: { same: "token_cancelled", other: "token_cancelled", late: "token_cancelled" },
    expired: { same: "token_expired", other: "token_expired", late: "token_expired" },
  };
  for (const status of TOKEN_STATUSES) {
    it(`of a ${status} token leads to ${Object.values(expected[status]).join(", ")} when the same, other or late`, () => {
      assert.equal(outcome(decideCompletion(inTime(status), true, NOW)), expected[status].same);
      assert.equal(outcome(decideCompletion(inTime(status), false, NOW)), expected[status].other);
      assert.equal(outcome(decideCompletion(overdue(status), true, NOW)), expected[status].late);
    });
  }
});

describe("a cancellation", () => {
  const expected: Record<TokenStatus, { inTime: string; late: string }> = {
    pending: { inTime: "cancel", late: "expire" },
    completed: { inTime: "invalid_state", late: "invalid_state" },
    cancelled: { inTime: "none", late: "none" },
    expired: { inTime: "invalid_state", late: "invalid_state" },
  };
  for (const status of TOKEN_STATUSES) {
    it(`of a ${status} token leads to ${expected[status].inTime}, late to ${expected[status].late}`, () => {
      assert.equal(outcome(decideCancel(inTime(status), NOW)), expected[status].inTime);
      assert.equal(outcome(decideCancel(overdue(status), NOW)), expected[status].late);
    });
  }
});

describe("the passing of time", () => {
  for (const status of TOKEN_STATUSES) {
    it(`expires a ${status} token only when it is pending and overdue`, () => {
      assert.equal(decideExpiry(inTime(status), NOW).kind, "none");
      assert.equal(decideExpiry(overdue(status), NOW).kind, status === "pending" ? "expire" : "none");
    });
  }
});

describe("the edges", () => {
  it("lead out of pending alone, to every other status", () => {
    assert.ok(TOKEN_EDGES.every(({ from }) => from === "pending"));
    assert.deepEqual(
      TOKEN_EDGES.map(({ to }): TokenStatus => to).sort(),
      TOKEN_STATUSES.filter((status) => status !== "pending").sort(),
    );
  });
});

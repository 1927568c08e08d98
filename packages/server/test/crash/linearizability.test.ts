// The judge of the token's race is judged first: histories that are known to be right and wrong.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkLinearizable, type Call } from "./support/check-linearizable.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { writeOnceRegister, type RegisterInput, type RegisterOutput } from "./support/write-once-register.ts";

type RegisterCall = Call<RegisterInput, RegisterOutput>;

const write = (
  data: string,
  from: number,
  to: number,
  kind: Exclude<RegisterOutput["kind"], "read">,
): RegisterCall => ({
  input: { kind: "complete", data },
  output: { kind },
  invokedAt: from,
  returnedAt: to,
});
const lost = (data: string, from: number): RegisterCall => ({
  input: { kind: "complete", data },
  output: null,
  invokedAt: from,
  returnedAt: Infinity,
});
const read = (data: string | null, from: number, to: number): RegisterCall => ({
  input: { kind: "read" },
  output: { kind: "read", data },
  invokedAt: from,
  returnedAt: to,
});
const cancel = (from: number, to: number, kind: "cancelled" | "invalid_state"): RegisterCall => ({
  ...write("", from, to, kind),
  input: { kind: "cancel" },
});
const isLinearizable = (...history: RegisterCall[]): boolean =>
  checkLinearizable(history, null, writeOnceRegister).isLinearizable;

describe("a history of a write-once register", () => {
  for (const [what, history] of [
    ["nothing happens", []],
    ["one write and its repeat", [write("a", 1, 2, "completed"), write("a", 3, 4, "already_completed")]],
    [
      "a refusal answered before the write it lost to",
      [write("a", 1, 9, "completed"), write("b", 2, 3, "token_completion_conflict")],
    ],
    [
      "a read of nothing while a write is under way",
      [write("a", 1, 9, "completed"), read(null, 2, 3), read("a", 4, 5)],
    ],
    ["a lost write that nobody saw", [lost("a", 1), read(null, 2, 3)]],
    ["a lost write that is seen much later", [lost("a", 1), read(null, 2, 3), read("a", 8, 9)]],
    ["a lost write whose repeat finds it", [lost("a", 1), write("a", 5, 6, "already_completed")]],
    ["a lost write whose repeat is the first", [lost("a", 1), write("a", 5, 6, "completed")]],
    [
      "a lost write that beats another",
      [lost("a", 1), write("b", 5, 6, "token_completion_conflict"), read("a", 7, 8)],
    ],
    [
      "a cancellation beats a write",
      [cancel(1, 5, "cancelled"), write("a", 2, 6, "token_cancelled"), cancel(7, 8, "cancelled")],
    ],
    ["a write beats a cancellation", [cancel(1, 5, "invalid_state"), write("a", 2, 6, "completed")]],
    ["a lost write that is beaten", [lost("a", 1), write("b", 2, 3, "completed"), read("b", 7, 8)]],
  ] as const) {
    test(`is right when ${what}`, () => assert.equal(isLinearizable(...history), true));
  }

  for (const [what, history] of [
    ["a write and a cancellation win", [cancel(1, 5, "cancelled"), write("a", 2, 6, "completed")]],
    ["two writes win", [write("a", 1, 5, "completed"), write("a", 2, 6, "completed")]],
    ["a write wins over another", [write("a", 1, 2, "completed"), write("b", 3, 4, "completed")]],
    [
      "a repeat comes before its write",
      [write("a", 1, 2, "already_completed"), write("a", 3, 4, "completed")],
    ],
    [
      "a refusal comes before any write",
      [write("b", 1, 2, "token_completion_conflict"), write("a", 3, 4, "completed")],
    ],
    [
      "the same data is refused",
      [write("a", 1, 2, "completed"), write("a", 3, 4, "token_completion_conflict")],
    ],
    ["an acknowledged write is gone", [write("a", 1, 2, "completed"), read(null, 3, 4)]],
    ["the value changes", [lost("a", 1), lost("b", 1), read("a", 2, 3), read("b", 4, 5)]],
    ["a value is gone again", [lost("a", 1), read("a", 2, 3), read(null, 4, 5)]],
    ["a lost write is seen before it began", [read("a", 1, 2), lost("a", 3)]],
    [
      "a lost write wins and its repeat wins too",
      [lost("a", 1), read("a", 2, 3), write("a", 4, 5, "completed")],
    ],
  ] as const) {
    test(`is wrong when ${what}`, () => assert.equal(isLinearizable(...history), false));
  }

  test("of sixteen callers is decided at once, and one wrong answer among them is found", () => {
    const random = seededRandom(7);
    for (let round = 0; round < 50; round += 1) {
      // A real register, of which the answers are taken; half of its callers do not hear theirs.
      let value: string | null = null;
      const history = Array.from({ length: 32 }, (_, n): RegisterCall => {
        const data = n % 2 === 0 ? "a" : "b";
        const kind =
          value === null ? "completed" : value === data ? "already_completed" : "token_completion_conflict";
        value ??= data;
        return random() < 0.4 && n > 0
          ? lost(data, n - random() * 8)
          : write(data, n - random() * 8, n + random() * 8, kind);
      });
      const { isLinearizable: isRight, steps } = checkLinearizable(history, null, writeOnceRegister);
      assert.equal(isRight, true);
      assert.ok(steps < 20_000, String(steps));
      const wrong = history.findIndex(({ output }) => output?.kind === "token_completion_conflict");
      if (wrong === -1) continue;
      const call = { ...(history[wrong] as RegisterCall), output: { kind: "completed" } as const };
      assert.equal(isLinearizable(...history.with(wrong, call)), false);
    }
  });
});

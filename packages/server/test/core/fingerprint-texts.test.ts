// Whatever an error says, its fingerprint is made of it in bounded time, and does not depend on the values in it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { fingerprintOf, normalizeMessage } from "../../src/core/error-groups/fingerprint.ts";
import { newSeed, seededRandom } from "../support/seeded-random.ts";

describe("the fingerprint of any text", () => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => pick(Array.from("0123456789abcdef"))).join("");
  const uuid = (): string => `${hex(8)}-${hex(4)}-7${hex(3)}-a${hex(3)}-${hex(12)}`;
  const VALUES: readonly (() => string)[] = [
    () => String(Math.floor(random() * 10 ** pick([1, 3, 9]))),
    () => `${Math.floor(random() * 1000)}.${Math.floor(random() * 1000)}`,
    uuid,
    () => encodeId("run", uuid() as never),
    () => `0x${hex(pick([4, 8, 16]))}`,
    () => `"${pick(["a", "b c", "<x>", hex(5)])}"`,
    () => `'${pick(["a", "b c", "<x>", hex(5)])}'`,
  ];
  const WORDS = ["order", "of", "was refused:", "can't", "(code", ")", "ECONNRESET", "\n", "für", "💥"];

  test("gives the same where only values differ", () => {
    for (let round = 0; round < 500; round += 1) {
      const parts = Array.from({ length: 1 + Math.floor(random() * 12) }, () =>
        random() < 0.5 ? pick(WORDS) : pick(VALUES),
      );
      const text = (): string => parts.map((part) => (typeof part === "string" ? part : part())).join(" ");
      const [a, b] = [text(), text()];
      assert.equal(normalizeMessage(a), normalizeMessage(b), `seed ${seed}: ${a} | ${b}`);
    }
  });

  test("is read without a throw, in time that grows with its length, and gives bounded text", () => {
    const PIECES = [
      '"',
      "'",
      "`",
      "“",
      "\0",
      "\ud800",
      "at ",
      "    at (",
      ":1:1",
      ")",
      "\n",
      "1",
      "a",
      "-",
      " ",
      "f0",
    ];
    const long = PIECES.map((piece) => piece.repeat(200_000));
    const mixed = Array.from({ length: 500 }, () =>
      Array.from({ length: Math.floor(random() * 400) }, () => pick(PIECES)).join(""),
    );
    for (const text of [...long, ...mixed]) {
      const { name, message, frame } = fingerprintOf({
        kind: "application_error",
        message: text,
        stack: text,
        retryable: true,
      });
      for (const part of [name ?? "", message, frame ?? ""]) {
        assert.ok(part.length <= 300, part);
        assert.ok(part.isWellFormed());
      }
    }
  });
});

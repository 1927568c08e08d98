import assert from "node:assert/strict";
import { test } from "node:test";
import { causeOf, ITEM_RETRY_DELAYS_MS } from "./loop-failure.ts";

test("an item is left alone longer after each failure, up to a quarter of an hour", () => {
  for (const [index, delayMs] of ITEM_RETRY_DELAYS_MS.entries())
    assert.ok(delayMs > (ITEM_RETRY_DELAYS_MS[index - 1] ?? 0));
  assert.equal(ITEM_RETRY_DELAYS_MS.at(-1), 15 * 60_000);
});

test("a cause names the error and what caused it, without a NUL and in bounds", () => {
  assert.equal(causeOf(new Error("outer", { cause: new Error("in\0ner") })), "outer: in\ufffdner");
  assert.equal(causeOf("plain"), "plain");
  assert.equal(causeOf(new Error("x".repeat(5_000))).length, 2_000);
});

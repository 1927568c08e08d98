import assert from "node:assert/strict";
import { test } from "node:test";
import { takeFairly } from "./take-fairly.ts";

const take = (queue: string, count: number): string[] => {
  const { taken, left } = takeFairly([...queue.matchAll(/\w\d*/g)].map(String), count, (item) =>
    item.charAt(0),
  );
  return [taken.join(" "), left.join(" ")];
};

test("of each group the same number is taken, oldest first", () => {
  assert.deepEqual(take("a1 a2 a3 a4 a5 b1 b2 b3 c1", 5), ["a1 a2 b1 b2 c1", "a3 a4 a5 b3"]);
});

test("a group that has less leaves its share to the others", () => {
  assert.deepEqual(take("a1 a2 a3 a4 a5 a6 b1", 4), ["a1 a2 a3 b1", "a4 a5 a6"]);
});

test("what does not divide goes to the oldest", () => {
  assert.deepEqual(take("b1 a1 a2 b2 a3 b3", 3), ["b1 a1 a2", "b2 a3 b3"]);
  assert.deepEqual(take("a1 b1 c1", 2), ["a1 b1", "c1"]);
});

test("one group is a plain queue", () => {
  assert.deepEqual(take("a1 a2 a3", 2), ["a1 a2", "a3"]);
  assert.deepEqual(take("a1 a2", 5), ["a1 a2", ""]);
});

test("a flood does not hold up anybody, however long it is", () => {
  const flood = Array.from({ length: 20_000 }, () => "flood");
  const { taken, left } = takeFairly([...flood, "one", "two"], 500, (item) => item);
  assert.deepEqual([taken.length, left.length], [500, 19_502]);
  assert.deepEqual(taken.slice(-2), ["one", "two"]);
});

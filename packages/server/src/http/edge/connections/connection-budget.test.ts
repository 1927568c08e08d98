import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRoom, pastBudget, type Counted } from "./connection-budget.ts";

const NOW = 100_000;

/** Connections of an address, opened a millisecond apart and long ago. */
const crowdOf = (address: string, count: number, extra: Partial<Counted> = {}): Counted[] =>
  Array.from({ length: count }, (_, index) => ({ address, since: index, isAnswering: false, ...extra }));

test("past its budget an address loses its oldest connections, and another address none", () => {
  const [many, few] = [crowdOf("a", 5), crowdOf("b", 3)];
  assert.deepEqual(pastBudget([...many.toReversed(), ...few], 3, NOW), many.slice(0, 2));
  assert.deepEqual(pastBudget([...many, ...few], 5, NOW), []);
  assert.deepEqual(pastBudget([...many, ...few], 0, NOW), []);
});

test("a connection that was just opened or is being answered stays", () => {
  const young = crowdOf("a", 5, { since: NOW - 999 });
  const answered = crowdOf("a", 5, { isAnswering: true, since: NOW - 29_000 });
  assert.deepEqual(pastBudget([...young, ...answered], 3, NOW), []);
  const old = crowdOf("a", 4);
  assert.deepEqual(pastBudget([...young, ...answered, ...old], 3, NOW), old);
});

test("an answer that its caller does not read for 30 s is no reason to stay", () => {
  const stalled = crowdOf("a", 5, { isAnswering: true, since: NOW - 30_000 });
  assert.equal(pastBudget(stalled, 3, NOW).length, 2);
  assert.equal(makeRoom(stalled, 3, NOW).length, 3);
});

test("room is made by whoever has most", () => {
  const [many, few, one] = [crowdOf("a", 10), crowdOf("b", 4), crowdOf("c", 1)];
  assert.deepEqual(makeRoom([...one, ...few, ...many], 6, NOW), many.slice(0, 6));
  const both = makeRoom([...one, ...few, ...many], 10, NOW);
  assert.equal(both.filter(({ address }) => address === "a").length, 8);
  assert.equal(both.filter(({ address }) => address === "b").length, 2);
  assert.deepEqual(makeRoom(crowdOf("a", 3, { isAnswering: true, since: NOW }), 2, NOW), []);
});

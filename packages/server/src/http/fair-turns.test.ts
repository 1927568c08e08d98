import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, test } from "node:test";
import { createFairTurns, type FairTurns } from "./fair-turns.ts";

/** Enters many times and says in which order they went on. */
function enterAll(turns: FairTurns, order: string[], name: string, count: number): Promise<void>[] {
  return Array.from({ length: count }, async (_, n) => {
    const turn = turns.enter(name, 1);
    if (turn !== undefined) await turn;
    order.push(`${name}${n}`);
  });
}

describe("turns", () => {
  test("are not waited for by an environment that is alone", () => {
    const turns = createFairTurns(() => 0);
    for (let n = 0; n < 1_000; n += 1) assert.equal(turns.enter("one", 1), undefined);
    assert.equal(turns.waiting(), 0);
  });

  test("let the others go on before a flood that came earlier", async () => {
    const turns = createFairTurns(() => 0);
    const order: string[] = [];
    assert.equal(turns.enter("other", 1), undefined);
    const flood = enterAll(turns, order, "flood", 1_000);
    assert.ok(turns.waiting() > 900);
    await nextTurn();
    const others = enterAll(turns, order, "other", 3);
    await Promise.all(others);
    assert.ok(order.length < 200, `${order.length} went before the others`);
    await Promise.all(flood);
    const waited = order.filter((name) => name.startsWith("flood"));
    assert.deepEqual(
      waited,
      Array.from({ length: 1_000 }, (_, n) => `flood${n}`),
    );
    assert.equal(turns.waiting(), 0);
  });

  test("hold fewer of what costs more", async () => {
    const turns = createFairTurns(() => 0);
    assert.equal(turns.enter("other", 1), undefined);
    assert.equal(turns.enter("one", 1_000), undefined, "the first goes on whatever it costs");
    const second = turns.enter("one", 1_000);
    assert.ok(second !== undefined);
    await second;
  });

  test("are forgotten when the others have gone", async () => {
    let now = 0;
    const turns = createFairTurns(() => now);
    assert.equal(turns.enter("other", 1), undefined);
    await Promise.all(enterAll(turns, [], "one", 100));
    now = 60_000;
    for (let n = 0; n < 1_000; n += 1) assert.equal(turns.enter("one", 1), undefined);
  });
});

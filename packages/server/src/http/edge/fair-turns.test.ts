import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Uuid } from "@keelson/contract";
import { createFairTurns, type FairTurns } from "./fair-turns.ts";

/** More than an environment has done in a round. */
const FLOOD = 1_000;

/** Turns of a server that two environments call, at a time that the test sets. */
function sharedTurns(): { turns: FairTurns; clock: { now: number } } {
  const clock = { now: 0 };
  const turns = createFairTurns(() => clock.now);
  assert.equal(turns.enter("one" as Uuid<"env">, 1), undefined);
  assert.equal(turns.enter("other" as Uuid<"env">, 1), undefined);
  return { turns, clock };
}

/** Enters many times and says in which order they went on. */
function enterAll(turns: FairTurns, order: string[], name: string, count: number, cost = 1): void {
  for (let n = 0; n < count; n += 1) {
    const go = (): void => void order.push(`${name}${n}`);
    const waits = turns.enter(name as Uuid<"env">, cost);
    if (waits === undefined) go();
    else void waits.then(go);
  }
}

describe("turns", () => {
  test("are not waited for by an environment that is alone", () => {
    const turns = createFairTurns(() => 0);
    for (let n = 0; n < FLOOD; n += 1) assert.equal(turns.enter("one" as Uuid<"env">, 1), undefined);
    turns.charge("one" as Uuid<"env">, FLOOD);
    assert.equal(turns.enter("one" as Uuid<"env">, 1), undefined);
    assert.equal(turns.waiting(), 0);
  });

  test("are had in their order by a flood, some of it in each turn of the event loop, and at once by others", async () => {
    const { turns } = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "flood", FLOOD);
    const atOnce = order.length;
    assert.ok(atOnce > 0 && atOnce < 20, `${atOnce} went at once`);
    let rounds = 0;
    for (; order.length < FLOOD; rounds += 1) {
      const before = order.length;
      await turn();
      assert.ok(
        order.length > before && order.length - before <= 20,
        `${order.length - before} went in a round`,
      );
      const light: string[] = [];
      enterAll(turns, light, `light${rounds}`, 3);
      assert.equal(light.length, 3);
    }
    assert.ok(rounds > 40, `${rounds} rounds`);
    assert.deepEqual(
      order,
      Array.from({ length: FLOOD }, (_, n) => `flood${n}`),
    );
    assert.equal(turns.waiting(), 0);
  });

  test("are as many for each of several that want more, whatever one of them sends", async () => {
    const { turns } = sharedTurns();
    const [first, second]: string[][] = [[], []];
    enterAll(turns, first as string[], "first", FLOOD);
    enterAll(turns, second as string[], "second", FLOOD / 4);
    for (let n = 0; n < 10; n += 1) await turn();
    assert.equal(first?.length, second?.length);
  });

  test("are fewer of what costs more", async () => {
    const { turns } = sharedTurns();
    const [cheap, costly]: string[][] = [[], []];
    enterAll(turns, cheap as string[], "cheap", FLOOD);
    enterAll(turns, costly as string[], "costly", FLOOD, 4);
    for (let n = 0; n < 20; n += 1) await turn();
    const ratio = (cheap as string[]).length / (costly as string[]).length;
    assert.ok(ratio > 3.5 && ratio < 4.5, `${ratio}`);
  });

  test("are had by what costs more than a round, and paid for afterwards", async () => {
    const { turns } = sharedTurns();
    assert.equal(turns.enter("costly" as Uuid<"env">, 100), undefined, "the first goes on whatever it costs");
    const order: string[] = [];
    enterAll(turns, order, "costly", 1);
    for (let n = 0; n < 8; n += 1) await turn();
    assert.deepEqual(order, []);
    for (let n = 0; n < 20; n += 1) await turn();
    assert.deepEqual(order, ["costly0"]);
  });

  test("come first for what asks for that", async () => {
    const { turns } = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "flood", FLOOD);
    const first = turns.enter("flood" as Uuid<"env">, 1, true);
    assert.ok(first !== undefined);
    void first.then(() => order.push("first"));
    await turn();
    assert.ok(order.includes("first"));
  });

  test("are owed for what was charged, up to a bound", async () => {
    const { turns } = sharedTurns();
    turns.charge("charged" as Uuid<"env">, 1_000_000);
    const waits = turns.enter("charged" as Uuid<"env">, 1);
    assert.ok(waits !== undefined);
    for (let n = 0; n < 100; n += 1) await turn();
    assert.equal(turns.waiting(), 0);
    await waits;
  });

  test("are not waited for any more when the others have gone", async () => {
    const { turns, clock } = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "one", 10 * FLOOD);
    clock.now = 1_000;
    await turn();
    await turn();
    assert.equal(order.length, 10 * FLOOD);
    for (let n = 0; n < FLOOD; n += 1) assert.equal(turns.enter("one" as Uuid<"env">, 1), undefined);
  });
});

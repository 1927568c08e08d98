import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { createFairTurns, type FairTurns } from "./fair-turns.ts";

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));
afterEach(() => mock.timers.reset());

const LATER_MS = 1_000;

/** Turns of a server that two environments call. */
function sharedTurns(): FairTurns {
  const turns = createFairTurns(Date.now, 1_000);
  assert.equal(turns.enter("one", 1), undefined);
  assert.equal(turns.enter("other", 1), undefined);
  return turns;
}

/** Enters many times and says in which order they went on. */
function enterAll(turns: FairTurns, order: string[], name: string, count: number): void {
  for (let n = 0; n < count; n += 1) {
    const go = (): void => void order.push(`${name}${n}`);
    const turn = turns.enter(name, 1);
    if (turn === undefined) go();
    else void turn.then(go);
  }
}

/** Lets the time pass, turn by turn, while another environment calls now and then. */
async function pass(turns: FairTurns, ms: number, isShared = true): Promise<void> {
  for (let n = 0; n < ms; n += 1) {
    if (isShared && n % 100 === 0) assert.equal(turns.enter(`other${n}`, 1), undefined);
    mock.timers.tick(1);
    await new Promise(setImmediate);
  }
}

describe("turns", () => {
  test("are not waited for by an environment that is alone", () => {
    const turns = createFairTurns(Date.now, 1_000);
    for (let n = 0; n < 1_000; n += 1) assert.equal(turns.enter("one", 1), undefined);
    assert.equal(turns.waiting(), 0);
  });

  test("are not waited for where nobody is held back", () => {
    const turns = createFairTurns(Date.now, 0);
    for (let n = 0; n < 1_000; n += 1) assert.equal(turns.enter(`environment ${n % 3}`, 1), undefined);
    turns.charge("environment 1", 1_000);
    assert.equal(turns.enter("environment 1", 1), undefined);
  });

  test("are had in their order, a few at a time, by a flood, and at once by the others", async () => {
    const turns = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "flood", 1_000);
    const atOnce = order.length;
    assert.ok(atOnce > 0 && atOnce < 20, `${atOnce} went at once`);
    await pass(turns, 100);
    const later = order.length - atOnce;
    assert.ok(later > 50 && later < 300, `${later} went in 100 ms`);
    enterAll(turns, order, "another", 3);
    assert.deepEqual(order.splice(-3), ["another0", "another1", "another2"]);
    await pass(turns, LATER_MS);
    assert.deepEqual(
      order,
      Array.from({ length: 1_000 }, (_, n) => `flood${n}`),
    );
    assert.equal(turns.waiting(), 0);
  });

  test("are as many for each of several that want more", async () => {
    const turns = sharedTurns();
    const [first, second]: string[][] = [[], []];
    enterAll(turns, first as string[], "first", 1_000);
    enterAll(turns, second as string[], "second", 1_000);
    await pass(turns, 100);
    assert.equal(first?.length, second?.length);
  });

  test("are fewer of what costs more", async () => {
    const turns = sharedTurns();
    assert.equal(turns.enter("costly", 100), undefined, "the first goes on whatever it costs");
    const order: string[] = [];
    enterAll(turns, order, "costly", 1);
    await pass(turns, 20);
    assert.deepEqual(order, []);
    await pass(turns, LATER_MS);
    assert.deepEqual(order, ["costly0"]);
  });

  test("come first for what asks for that", async () => {
    const turns = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "flood", 1_000);
    const first = turns.enter("flood", 1, true);
    assert.ok(first !== undefined);
    void first.then(() => order.push("first"));
    await pass(turns, 20);
    assert.ok(order.indexOf("first") > 0 && order.indexOf("first") < 20, `at ${order.indexOf("first")}`);
  });

  test("are owed for what was charged, up to a bound", async () => {
    const turns = sharedTurns();
    turns.charge("charged", 1_000_000);
    const turn = turns.enter("charged", 1);
    assert.ok(turn !== undefined);
    await pass(turns, LATER_MS);
    await turn;
  });

  test("are not waited for any more when the others have gone", async () => {
    const turns = sharedTurns();
    const order: string[] = [];
    enterAll(turns, order, "one", 100_000);
    await pass(turns, LATER_MS, false);
    assert.equal(order.length, 100_000);
    for (let n = 0; n < 1_000; n += 1) assert.equal(turns.enter("one", 1), undefined);
  });
});

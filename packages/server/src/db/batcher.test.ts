import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { test } from "node:test";
import { createBatcher, type BatchOutcome } from "./batcher.ts";

type Batch = { items: string[]; end: () => void };

/** Batches end when the test says so. Items are of the group of their first letter. */
function createHeldBatcher(maxItems: number) {
  const batches: Batch[] = [];
  const batcher = createBatcher<string, string>({
    maxItems,
    maxInFlight: 2,
    groupOf: (item) => item.charAt(0),
    run: (items) =>
      new Promise((resolve) => {
        const outcomes = items.map((value): BatchOutcome<string> => ({ ok: true, value }));
        batches.push({ items, end: () => resolve(outcomes) });
      }),
  });
  const submit = (...items: string[]): Promise<string[]> =>
    Promise.all(items.map((item) => batcher.submit(item)));
  return { batches, batcher, submit, itemsOf: () => batches.map(({ items }) => items.join(" ")) };
}

test("a group that has nothing under way does not wait for the batches of another", async () => {
  const { batches, submit, itemsOf, batcher } = createHeldBatcher(2);
  const flood = submit("a1", "a2", "a3", "a4", "a5", "a6");
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2", "a3 a4"]);
  const other = submit("b1");
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2", "a3 a4", "b1"], "the others' own next batch still waits");
  batches[2]?.end();
  assert.deepEqual(await other, ["b1"]);
  batches[0]?.end();
  batches[1]?.end();
  await nextTurn();
  await nextTurn();
  batches[3]?.end();
  assert.deepEqual(await flood, ["a1", "a2", "a3", "a4", "a5", "a6"]);
  assert.equal(batcher.pending(), 0);
});

test("groups share a batch that is too small for all of them", async () => {
  const { batches, submit, itemsOf } = createHeldBatcher(4);
  const first = submit("a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1");
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2 b1 c1", "a3 a4 a5 a6"]);
  for (const { end } of batches) end();
  assert.equal((await first).length, 8);
});

test("a batch goes out beside another one when it is at least as large", async () => {
  const { batches, submit, itemsOf } = createHeldBatcher(4);
  const first = submit("a1", "a2");
  await nextTurn();
  const second = submit("a3");
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2"], "one that is smaller waits");
  const third = submit("a4");
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2", "a3 a4"]);
  for (const { end } of batches) end();
  assert.deepEqual(await Promise.all([first, second, third]), [["a1", "a2"], ["a3"], ["a4"]]);
});

test("a batch that was too small to go beside another one goes when that is done", async () => {
  const { batches, submit, itemsOf } = createHeldBatcher(4);
  const first = submit("a1", "a2");
  await nextTurn();
  const second = submit("a3");
  await nextTurn();
  batches[0]?.end();
  await first;
  await nextTurn();
  assert.deepEqual(itemsOf(), ["a1 a2", "a3"]);
  batches[1]?.end();
  assert.deepEqual(await second, ["a3"]);
});

test("who waits behind a batch that PostgreSQL did not answer in time fails with it, and by nothing else", async () => {
  for (const [message, isShared] of [
    ["Query read timeout", true],
    ["timeout exceeded when trying to connect: no connection was given back", true],
    ["Connection terminated unexpectedly", false],
    ["duplicate key", false],
  ] as const) {
    const batches: { items: string[]; fail: (error: Error) => void; end: () => void }[] = [];
    const batcher = createBatcher<string, string>({
      maxItems: 4,
      maxInFlight: 1,
      run: (items) =>
        new Promise((resolve, reject) => {
          const end = () => resolve(items.map((value): BatchOutcome<string> => ({ ok: true, value })));
          batches.push({ items, fail: reject, end });
        }),
    });
    const first = batcher.submit("a");
    await nextTurn();
    const second = batcher.submit("b");
    await nextTurn();
    const error = new Error("The runs could not be stored.", { cause: new Error(message) });
    batches[0]?.fail(error);
    await assert.rejects(first, error);
    if (isShared) await assert.rejects(second, error);
    else {
      await nextTurn();
      batches[1]?.end();
      assert.equal(await second, "b", message);
    }
    assert.equal(batches.length, isShared ? 1 : 2, message);
    // What comes later is tried again.
    const third = batcher.submit("c");
    await nextTurn();
    batches.at(-1)?.end();
    assert.equal(await third, "c");
  }
});

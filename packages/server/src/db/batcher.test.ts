import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBatcher, type BatchOutcome } from "./batcher.ts";

type Batch = { items: number[]; answer(outcomes: BatchOutcome<string>[]): void; fail(error: Error): void };

function batcherUnderTest(maxItems = 100, maxInFlight = 2) {
  const batches: Batch[] = [];
  const batcher = createBatcher<number, string>({
    maxItems,
    maxInFlight,
    run: (items) => new Promise((answer, fail) => batches.push({ items, answer, fail })),
  });
  return { batcher, batches };
}

const ok = (items: number[]): BatchOutcome<string>[] =>
  items.map((item) => ({ ok: true, value: `#${item}` }));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a batcher", () => {
  it("puts what is submitted in one turn into one batch and gives each its own outcome", async () => {
    const { batcher, batches } = batcherUnderTest();
    const results = [batcher.submit(1), batcher.submit(2)];
    await turn();
    assert.deepEqual(
      batches.map((batch) => batch.items),
      [[1, 2]],
    );
    batches[0]?.answer([
      { ok: true, value: "one" },
      { ok: false, error: new Error("two refused") },
    ]);
    assert.equal(await results[0], "one");
    await assert.rejects(results[1] as Promise<string>, /two refused/);
  });

  it("sends a lone caller at once while another batch is in flight, and gathers the rest", async () => {
    const { batcher, batches } = batcherUnderTest();
    const results: Promise<string>[] = [];
    for (const item of [1, 2, 3, 4]) {
      results.push(batcher.submit(item));
      await turn();
    }
    assert.deepEqual(
      batches.map((batch) => batch.items),
      [[1], [2]],
    );
    batches[0]?.answer(ok([1]));
    await results[0];
    await turn();
    assert.deepEqual(batches[2]?.items, [3, 4]);
    batches[1]?.answer(ok([2]));
    batches[2]?.answer(ok([3, 4]));
    assert.deepEqual(await Promise.all(results), ["#1", "#2", "#3", "#4"]);
    assert.equal(batcher.pending(), 0);
  });

  it("splits at the most items and fails only the callers of a failed batch", async () => {
    const { batcher, batches } = batcherUnderTest(2);
    const results = [1, 2, 3].map((item) => batcher.submit(item));
    const settled = Promise.allSettled(results);
    await turn();
    assert.deepEqual(
      batches.map((batch) => batch.items),
      [[1, 2], [3]],
    );
    batches[0]?.fail(new Error("lost"));
    batches[1]?.answer(ok([3]));
    assert.deepEqual(
      (await settled).map((result) => result.status),
      ["rejected", "rejected", "fulfilled"],
    );
  });
});

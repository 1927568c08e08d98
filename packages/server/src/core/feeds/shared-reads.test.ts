import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSharedReads } from "./shared-reads.ts";

/** Reads that answer when told to. */
function controlledReads() {
  const pending: { resolve(value: number): void; reject(error: Error): void }[] = [];
  const read = (): Promise<number> => new Promise((resolve, reject) => pending.push({ resolve, reject }));
  return { pending, read };
}

describe("shared reads", () => {
  it("give all who come during a read the one after it, and no one the one under way", async () => {
    const { pending, read } = controlledReads();
    const share = createSharedReads<number>();
    const first = share("k", read);
    const second = share("k", read);
    const third = share("k", read);
    assert.equal(pending.length, 1);
    pending[0]?.resolve(1);
    assert.equal(await first, 1);
    await new Promise(setImmediate);
    assert.equal(pending.length, 2);
    pending[1]?.resolve(2);
    assert.deepEqual(await Promise.all([second, third]), [2, 2]);
  });

  it("begin anew once nothing is under way, and keep keys apart", async () => {
    const { pending, read } = controlledReads();
    const share = createSharedReads<number>();
    const one = share("a", read);
    const other = share("b", read);
    pending[0]?.resolve(1);
    pending[1]?.resolve(2);
    assert.deepEqual(await Promise.all([one, other]), [1, 2]);
    const again = share("a", read);
    pending[2]?.resolve(3);
    assert.equal(await again, 3);
  });

  it("give a failure to those who shared it, and go on after it", async () => {
    const { pending, read } = controlledReads();
    const share = createSharedReads<number>();
    const failing = share("k", read);
    const next = share("k", read);
    pending[0]?.reject(new Error("lost"));
    await assert.rejects(failing, /lost/);
    await new Promise(setImmediate);
    pending[1]?.resolve(5);
    assert.equal(await next, 5);
  });
});

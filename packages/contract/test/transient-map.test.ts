import assert from "node:assert/strict";
import { test } from "node:test";
import { TransientMap } from "@keelson/contract/transient-map";
import { bytesThatOutliveScavenges } from "./support/outlives-scavenges.ts";

test("keeps values by their keys, in the order in which the keys came", () => {
  const map = new TransientMap<string, number | undefined>();
  for (const [key, value] of [
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ] as const)
    map.set(key, value);
  map.set("a", 4);
  assert.deepEqual([...map.keys()], ["a", "b", "c"]);
  assert.deepEqual([...map.values()], [4, 2, 3]);
  assert.equal(map.delete("b"), true);
  assert.equal(map.delete("b"), false);
  map.set("d", undefined);
  assert.deepEqual([...map.keys()], ["a", "c", "d"]);
  assert.deepEqual([...map.values()], [4, 3, undefined]);
  assert.deepEqual(
    [map.size, map.has("b"), map.has("d"), map.get("b"), map.get("c")],
    [3, false, true, undefined, 3],
  );
});

test("what is deleted while it is iterated is not met, and what is added is", () => {
  const map = new TransientMap<number, string>();
  for (const key of [1, 2, 3]) map.set(key, `value ${key}`);
  const met: string[] = [];
  for (const value of map.values()) {
    met.push(value);
    map.delete(2);
    if (value === "value 1") map.set(4, "value 4");
  }
  assert.deepEqual(met, ["value 1", "value 3", "value 4"]);
});

test("does as a Map does, whatever is asked of it", () => {
  const map = new TransientMap<number, number>();
  const model = new Map<number, number>();
  // Each pair of a key and what is done with it comes often, in ever other orders.
  for (let step = 0, at = 1; step < 20_000; step += 1) {
    at = (at * 48_271) % 2_147_483_647;
    const key = at % 37;
    if (at % 5 < 2) assert.equal(map.delete(key), model.delete(key));
    else {
      map.set(key, step);
      model.set(key, step);
    }
    assert.equal(map.get(key), model.get(key));
    assert.equal(map.size, model.size);
    if (step % 100 === 0) assert.deepEqual([...map.values()], [...model.values()]);
  }
  assert.deepEqual([...map.keys()], [...model.keys()]);
});

/** Text, because V8 allocates what a constructor has often made for long in the old generation at once. */
const VALUE = JSON.stringify(Array.from({ length: 512 }, (_, index) => index + 0.5));
/** A double for each. */
const VALUE_BYTES = 512 * 8;

/** Puts a value into a map, and takes the one out that is there for longest. */
function passThrough(map: { set(key: number, value: unknown): unknown; delete(key: number): unknown }) {
  let last = 0;
  return () => {
    last += 1;
    map.set(last, JSON.parse(VALUE));
    map.delete(last - 16);
  };
}

test("what is no longer in it does not outlive a scavenge, as it most often does when a Map had it", async () => {
  for (const time of [1, 2, 3]) {
    const kept = await bytesThatOutliveScavenges(2_000, passThrough(new TransientMap<number, unknown>()));
    assert.ok(kept < VALUE_BYTES / 4, `time ${time}: ${kept} bytes are kept of each value`);
  }
});

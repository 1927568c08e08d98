import assert from "node:assert/strict";
import { test } from "node:test";
import { createLiveIds, type Among, type LiveRow } from "./live-ids.ts";
import { firstUuidOf } from "./uuid.ts";

const SLACK_MS = 10_000;

/** A table of rows, and how it was asked. */
function rowsOf() {
  const rows = new Map<string, string>();
  const asked: { before: string; among: Among | null }[] = [];
  let now = 1_000_000;
  const live = createLiveIds({
    clock: () => now,
    list: (before, among) => {
      asked.push({ before, among });
      return Promise.resolve(
        [...rows]
          .map(([id, group]): LiveRow => ({ group, id }))
          .filter(
            ({ id }) => id < before && (among === null || id >= among.since || among.older.includes(id)),
          ),
      );
    },
  });
  return {
    live,
    asked,
    rows,
    pass: (ms: number) => (now += ms),
    add: (group: string): string => {
      const id = firstUuidOf(now);
      rows.set(id, group);
      return id;
    },
    isKnown: (id: string): boolean => {
      const all = live.all();
      return all === null || id >= all.since || all.older.includes(id);
    },
  };
}

test("nothing is known, and nothing is asked, while no snapshot is held", async () => {
  const { live, asked } = rowsOf();
  await live.look();
  assert.deepEqual([live.all(), live.of("a"), asked], [null, null, []]);
});

test("older rows are known by their ids for as long as they live, newer ones by their time", async () => {
  const { live, add, pass, rows, isKnown, asked } = rowsOf();
  live.hold(true);
  assert.equal(live.all(), null);
  const first = add("a");
  pass(1);
  const second = add("b");
  pass(SLACK_MS + 1);
  const newer = add("a");
  await live.look();
  assert.deepEqual(live.all()?.older, [first, second]);
  assert.deepEqual([live.of("a")?.older, live.of("b")?.older, live.of("c")?.older], [[first], [second], []]);
  assert.ok(isKnown(newer));
  rows.delete(first);
  pass(SLACK_MS + 1);
  const newest = add("b");
  await live.look();
  assert.deepEqual(live.all()?.older, [second, newer]);
  assert.ok(isKnown(newest));
  // The second look read only what the first one left open.
  assert.deepEqual(asked[1]?.among, { since: asked[0]?.before, older: [first, second] });
});

test("a row that was committed long after its id is found by a look at all of them", async () => {
  const { live, add, pass, isKnown, rows } = rowsOf();
  live.hold(true);
  await live.look();
  const late = add("a");
  rows.delete(late);
  pass(2 * SLACK_MS);
  await live.look();
  rows.set(late, "a");
  await live.look();
  assert.equal(isKnown(late), false);
  live.hold(false);
  assert.ok(isKnown(late));
  live.hold(true);
  await live.look();
  assert.ok(isKnown(late));
});

test("a clock that is set back hides nothing", async () => {
  const { live, add, pass, isKnown } = rowsOf();
  live.hold(true);
  pass(3_600_000);
  const before = add("a");
  await live.look();
  pass(-3_600_000);
  const after = add("a");
  await live.look();
  pass(SLACK_MS + 1);
  await live.look();
  assert.ok(isKnown(before));
  assert.ok(isKnown(after));
});

test("where very many live, all are read", async () => {
  const { live, add, pass } = rowsOf();
  live.hold(true);
  for (let row = 0; row <= 5_000; row += 1) {
    pass(1);
    add("a");
  }
  pass(SLACK_MS + 1);
  await live.look();
  assert.equal(live.all(), null);
});

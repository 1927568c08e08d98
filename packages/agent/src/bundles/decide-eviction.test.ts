import assert from "node:assert/strict";
import { test } from "node:test";
import { decideEviction, LEFTOVER_MS, type CachedFolder } from "./decide-eviction.ts";

const NOW = 100 * LEFTOVER_MS;
const AGED = 10 * LEFTOVER_MS;
const digest = (letter: string): string => letter.repeat(64);
const folder = (name: string, age: number, files: Record<string, number>): CachedFolder => ({
  path: `/${name}`,
  name,
  usedAt: NOW - age,
  files: new Map(Object.entries(files)),
});
const [a, b, c] = [
  folder(digest("a"), 3, { shared: 50, a: 10 }),
  folder(digest("b"), 2, { shared: 50, b: 10 }),
  folder(digest("c"), 1, { c: 30 }),
];
const old = folder(digest("d"), AGED, { d: 1 });
const partial = folder(`${digest("e")}.123456789abc.partial`, LEFTOVER_MS - 1, { e: 1 });
const leftover = folder(`${digest("f")}.123456789abc.old`, LEFTOVER_MS, { f: 1 });

for (const [what, folders, maxBytes, used, evicted, bytesLeft] of [
  ["nothing within the bound", [c, b, a], 100, [], [], 100],
  ["the least recently used first, until what is left fits", [c, b, a], 95, [], [a], 90],
  ["a file that two bundles share counts, until both have gone", [c, b, a], 30, [], [a, b], 30],
  ["all of them where nothing fits", [c, b, a], 0, [], [a, b, c], 0],
  ["never what is used", [c, b, a], 0, [a, c], [b], 90],
  ["what nobody used for too long, whatever its size", [a, old], 1000, [], [old], 60],
  ["not even that when it is used", [a, old], 1000, [old], [], 61],
  ["what a crash left, and not what is being made", [a, partial, leftover], 1000, [], [leftover], 61],
  ["what is being made stays over the bound too", [partial], 0, [], [], 1],
] as const)
  test(`eviction takes ${what}`, () => {
    const names = new Set<string>(used.map(({ name }) => name));
    const bound = { maxBytes, maxAgeMs: AGED };
    assert.deepEqual(
      decideEviction(folders, bound, NOW, (name) => names.has(name)),
      { evicted, bytesLeft },
    );
  });

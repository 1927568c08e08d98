import assert from "node:assert/strict";
import { test } from "node:test";
import { decideDiskExcess, decideExcess } from "./decide-excess.ts";

const MIB = 1024 * 1024;
const of = (id: string | null, tasks: number, memory = 0) => ({
  ...{ id, tasks, memoryBytes: memory * MIB, deletedBytes: 0 },
});
const limits = { processes: 10, memoryLimit: 100 * MIB };

for (const [name, usages, ended] of [
  ["nothing runs", [], undefined],
  ["all together use what they may", [of("a", 5, 50), of("b", 5, 50)], undefined],
  ["there are too many processes: the exec with the most", [of("a", 7), of("b", 4)], "a"],
  ["there are too many of equals: the newest", [of("a", 6), of("b", 6)], "b"],
  ["what left its exec has the most", [of("a", 3), of(null, 8)], null],
  ["memory is over: the largest", [of("a", 1, 30), of("b", 1, 60), of("c", 1, 20)], "b"],
  ["both are over: by processes", [of("a", 11, 0), of("b", 1, 200)], "a"],
] as const)
  test(`who is ended when ${name}`, () => {
    assert.equal(decideExcess(usages, limits)?.id, ended);
  });

test("without a limit of memory none is ended for it", () => {
  assert.equal(decideExcess([of("a", 1, 1_000_000)], { ...limits, memoryLimit: null }), null);
});

test("over the quota of disk the one that wrote the most is ended, and nobody when nobody wrote", () => {
  const quota = { usedBytes: 11, limits: { diskBytes: 10 } };
  const written = new Map([
    ["a", 5],
    ["b", 7],
    ["c", 0],
  ]);
  assert.equal(decideDiskExcess(written, quota)?.id, "b");
  assert.equal(decideDiskExcess(written, { ...quota, usedBytes: 10 }), null);
  assert.equal(decideDiskExcess(new Map([["a", 0]]), quota), null);
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ParkedRuns } from "./parked-runs.ts";

const CHAT = { key: "chat" };
const REPORT = { key: "report" };

/** Three are kept, and as many runs as said wait for processes. Ids of runs that were suspended, in that order. */
function startScene(waiting = 0) {
  const suspended: string[] = [];
  const demand = { waiting };
  const parked = new ParkedRuns<{ key: string }>(3, () => demand.waiting);
  const park = (leaseId: string, host = CHAT): void =>
    parked.add({ leaseId, host, suspend: () => void suspended.push(leaseId) });
  return { parked, park, suspended, demand };
}

describe("runs that only wait, in memory", () => {
  test("are suspended from the longest parked on, when there are too many", () => {
    const { parked, park, suspended } = startScene();
    for (const id of ["a", "b", "c"]) park(id);
    assert.deepEqual(suspended, []);
    park("d");
    assert.deepEqual(suspended, ["a"]);
    parked.delete("a");
    parked.delete("c");
    park("e");
    assert.deepEqual([parked.size, suspended], [3, ["a"]]);
  });

  test("give their processes to as many others as wait, but for the last one", () => {
    const { parked, park, suspended, demand } = startScene(2);
    park("a");
    assert.deepEqual(suspended, []);
    park("b");
    assert.deepEqual(suspended, ["a"]);
    park("c");
    assert.deepEqual(suspended, ["a", "b"]);
    // Both are still leaving.
    park("d");
    assert.deepEqual(suspended, ["a", "b"]);
    parked.delete("a");
    demand.waiting = 1;
    park("e");
    assert.deepEqual(suspended, ["a", "b"]);
  });

  test("keep processes that are of another kind than those that others wait for", () => {
    const { park, suspended } = startScene(1);
    park("a", REPORT);
    park("b");
    assert.deepEqual(suspended, []);
    park("c");
    assert.deepEqual(suspended, ["b"]);
  });

  test("are all suspended when none is to be kept, and so are those that are parked later", () => {
    const { parked, park, suspended } = startScene();
    park("a");
    park("b");
    parked.keepNone();
    assert.deepEqual(suspended, ["a", "b"]);
    parked.delete("a");
    parked.delete("b");
    park("c");
    assert.deepEqual(suspended, ["a", "b", "c"]);
  });
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { limitServedTime, parseWaitedMs, servedBetween, type ServedTimeLimit } from "./served-time.ts";

test("a process had the time that it did not wait for a core", () => {
  assert.equal(servedBetween({ atMs: 0, waitedMs: 100 }, { atMs: 500, waitedMs: 100 }), 500);
  assert.equal(servedBetween({ atMs: 0, waitedMs: 100 }, { atMs: 500, waitedMs: 500 }), 100);
  assert.equal(servedBetween({ atMs: 0, waitedMs: 0 }, { atMs: 500, waitedMs: 900 }), 0);
});

test("time in which the machine stood still is nobody's", () => {
  assert.equal(servedBetween({ atMs: 0, waitedMs: 0 }, { atMs: 60_000, waitedMs: 0 }), 500);
});

test("where the system does not tell how long a process waited, the clock counts", () => {
  assert.equal(servedBetween({ atMs: 0, waitedMs: null }, { atMs: 400, waitedMs: null }), 400);
  assert.deepEqual(["1000000 16000000000 9", "29000000000 0 9", ""].map(parseWaitedMs), [16_000, 0, null]);
});

const over = (limit: Omit<ServedTimeLimit, "onOver">): Promise<boolean> =>
  new Promise((resolve) => void limitServedTime({ ...limit, onOver: resolve }));

test("a process that could run for its bound is over it", async (t) => {
  const child = spawn(process.execPath, ["--eval", "setInterval(() => undefined, 1_000)"], {
    stdio: "ignore",
  });
  t.after(() => child.kill("SIGKILL"));
  assert.equal(await over({ boundMs: 1_000, longestMs: 300_000, pid: () => child.pid }), false);
});

test("of a process that does not run yet nothing is known, however long it takes", async () => {
  assert.equal(await over({ boundMs: 100, longestMs: 1_200, pid: () => undefined }), true);
});

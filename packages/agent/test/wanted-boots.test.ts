// When runs that wait for a process have one more booted.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { until } from "../../server/test/support/until.ts";
import { ExclusiveHosts } from "../src/task-hosts/exclusive-hosts.ts";
import type { TaskHost } from "../src/task-hosts/task-host.ts";
import { assertResult, SIGNING_BUNDLE, startSigns, type TestRun } from "./support/signing-runs.ts";
import { prepareTaskHost } from "./support/start-task-host.ts";

const BOOT_MS = 100;

/** A run that goes on until it is ended. */
type Held = { run: TestRun; end(): Promise<void> };

/** A machine with time to spare, whose clock only the test moves, and a run in the first process. */
async function startScene(t: TestContext) {
  const { folder, sign, run: makeRun } = await startSigns(t);
  const { spec, start } = await prepareTaskHost(t, folder, SIGNING_BUNDLE);
  const seen = { nowMs: 0, looks: 0, boots: 0 };
  const hosts = new ExclusiveHosts({
    boots: 1,
    start: () => {
      seen.boots += 1;
      const host: TaskHost = start({
        onBegun: (run) => hosts.begun(run),
        onReturned: (runs) => hosts.returned(host, runs),
      });
      return host;
    },
    ...{ makeRoom: () => undefined, idle: () => undefined, taken: () => undefined },
    hasSpareCpu: () => {
      seen.looks += 1;
      return true;
    },
    monotonic: () => seen.nowMs,
  });
  let last = 0;
  const begin = (): Held => {
    last += 1;
    const until = sign(`end-${last}`);
    const run = makeRun({ blocksUntil: until });
    void hosts.begin(spec, run);
    const end = async (): Promise<void> => {
      const { host } = await run.place;
      writeFileSync(until, "");
      await assertResult(run);
      host.giveBack();
      hosts.ended(host);
      if (host.free) hosts.offer(host);
    };
    return { run, end };
  };
  /** Waits until it was looked whether a process is wanted. */
  const look = async (): Promise<void> => {
    const before = seen.looks;
    await until("it to be looked", 60_000, async () => seen.looks > before + 1);
  };
  const first = begin();
  seen.nowMs = BOOT_MS;
  await first.run.place;
  return { seen, begin, look, first };
}

test("no process is booted for runs that those there come to sooner", async (t) => {
  const { seen, begin, look, first } = await startScene(t);
  const second = begin();
  // As long again as the run has taken for each of the two: 90 ms, where a boot takes 100.
  seen.nowMs += 45;
  await look();
  assert.equal(seen.boots, 1);
  seen.nowMs += 10;
  await second.run.place;
  assert.equal(seen.boots, 2);
  await Promise.all([first.end(), second.end()]);
});

test("one more process is booted where runs wait for as long as ten boots take, none of them for long", async (t) => {
  const { seen, begin, look, first } = await startScene(t);
  const waiting = [begin(), begin()];
  let running = first;
  // Three runs of 25 ms each are before a run that comes now.
  for (let tookMs = 25; tookMs < 10 * BOOT_MS; tookMs += 25) {
    seen.nowMs += 25;
    await running.end();
    running = waiting.shift() as Held;
    await running.run.place;
    waiting.push(begin());
  }
  await look();
  assert.equal(seen.boots, 1);
  seen.nowMs += 25;
  await (waiting[0] as Held).run.place;
  assert.ok(seen.boots > 1);
  await Promise.all([running, ...waiting].map((held) => held.end()));
});

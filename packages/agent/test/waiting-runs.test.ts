// Runs that wait behind another one in a process, and are not to begin any more.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { until } from "../../server/test/support/until.ts";
import { ExclusiveHosts } from "../src/task-hosts/exclusive-hosts.ts";
import type { TaskHost } from "../src/task-hosts/task-host.ts";
import { assertResult, SIGNING_BUNDLE, startSigns, type TestRun } from "./support/signing-runs.ts";
import { startTaskHost } from "./support/start-task-host.ts";

/** So many processes that have done short runs, on a machine that has no time to spare, and no others. */
async function startScene(t: TestContext, count: number) {
  const signs = await startSigns(t);
  const offered: TaskHost[] = [];
  const hosts = new ExclusiveHosts({
    boots: 1,
    start: () => assert.fail("the scene has its processes"),
    makeRoom: () => undefined,
    idle: (host) => void offered.push(host),
    taken: () => undefined,
    hasSpareCpu: () => false,
    // So runs take no time, and nothing is taken back for its length.
    monotonic: () => 0,
  });
  const startOne = async (folder: string): Promise<TaskHost> => {
    await mkdir(folder);
    const host = await startTaskHost(t, folder, SIGNING_BUNDLE, {
      onBegun: (run) => hosts.begun(run),
      onReturned: (runs) => hosts.returned(host, runs),
    });
    hosts.adopt(host);
    host.giveBack();
    hosts.offer(host);
    return host;
  };
  const [first, ...others] = await Promise.all(
    Array.from({ length: count }, (_, n) => startOne(join(signs.folder, `process-${n}`))),
  );
  assert.ok(first !== undefined);

  const release = async (run: TestRun): Promise<void> => {
    const { host, ended } = await run.place;
    await ended;
    host.giveBack();
    hosts.ended(host);
    if (host.free) hosts.offer(host);
  };
  const begin = (run: TestRun): Promise<void> => {
    void release(run);
    return hosts.begin(first.spec, run);
  };
  const beginAndEnd = async (run: TestRun): Promise<void> => {
    await begin(run);
    await assertResult(run);
  };
  for (let times = 0; times < 10; times += 1) await beginAndEnd(signs.run());
  return { ...signs, hosts, processes: [first, ...others], offered, begin, beginAndEnd };
}

test("a run that is withdrawn from behind another one begins nowhere, though a process is free", async (t) => {
  const { hosts, begin, beginAndEnd, run, sign, hasBegun } = await startScene(t, 2);
  const [first, second, third] = [run({ blocksUntil: sign("go") }), run(), run()];
  await begin(first);
  const [begins, others] = [begin(second), begin(third)];
  await until("the first run to block", 60_000, async () => hasBegun(first));
  hosts.withdraw(second);
  await begins;
  assert.deepEqual(second.told, ["returned"]);
  // What waited behind it has begun in the other process.
  await others;
  await assertResult(third);
  writeFileSync(sign("go"), "");
  await assertResult(first);
  await beginAndEnd(run());
  assert.equal(hasBegun(second), false);
});

test("a process has ended its runs when the last one is taken back, and takes others", async (t) => {
  const { hosts, offered, begin, beginAndEnd, run, sign } = await startScene(t, 1);
  const [first, second] = [run({ leavesUntil: sign("look") }), run()];
  await begin(first);
  const begins = begin(second);
  await assertResult(first);
  // It is about to look for the second.
  const before = offered.length;
  hosts.withdraw(second);
  await begins;
  assert.equal(offered.length, before + 1);
  writeFileSync(sign("look"), "");
  await beginAndEnd(run());
  assert.deepEqual(
    second.told.filter((what) => what !== "next"),
    ["returned"],
  );
});

test("a run that waits behind another one is counted as waiting for its process", async (t) => {
  const { hosts, processes, begin, run, sign, hasBegun } = await startScene(t, 2);
  const demands = (): number[] => processes.map((host) => hosts.demandFor(host));
  const [first, second, third] = [run({ blocksUntil: sign("go") }), run(), run({ blocksUntil: sign("go") })];
  const fourth = run();
  await begin(first);
  await until("the first run to block", 60_000, async () => hasBegun(first));
  assert.deepEqual(demands(), [0, 0]);
  const { host } = await first.place;
  const begins = begin(second);
  assert.deepEqual(demands(), host === processes[0] ? [1, 0] : [0, 1]);
  host.takeBack();
  await begins;
  await assertResult(second);
  await begin(third);
  await until("the third run to block", 60_000, async () => hasBegun(third));
  assert.deepEqual(demands(), [0, 0]);
  const last = begin(fourth);
  (await third.place).host.takeBack();
  assert.deepEqual(demands(), [1, 1]);
  writeFileSync(sign("go"), "");
  await Promise.all([assertResult(first), assertResult(third), last]);
  await assertResult(fourth);
});

test("when nothing is to begin any more, what comes back from a process waits until it is withdrawn", async (t) => {
  const { hosts, begin, run, sign, hasBegun } = await startScene(t, 2);
  const [first, second, third] = [run({ blocksUntil: sign("go") }), run(), run()];
  await begin(first);
  const begins = [begin(second), begin(third)];
  await until("the first run to block", 60_000, async () => hasBegun(first));
  hosts.beginNoMore();
  for (const waiting of [second, third]) hosts.withdraw(waiting);
  await Promise.all(begins);
  writeFileSync(sign("go"), "");
  await assertResult(first);
  assert.deepEqual(
    [second, third].map(({ told }) => told),
    [["returned"], ["returned"]],
  );
});

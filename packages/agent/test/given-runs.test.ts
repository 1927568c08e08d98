// Runs that a process is given at once: it begins one behind the other, and each of them once, here or elsewhere.

import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test, type TestContext } from "node:test";
import { isLong, newSeed, seededRandom } from "../../server/test/support/seeded-random.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { until } from "../../server/test/support/until.ts";
import { HostOutput } from "../src/task-hosts/host-output.ts";
import type { WaitingRun } from "../src/task-hosts/host-run.ts";
import { MOST_TICKETS, RunTickets } from "../src/task-hosts/run-tickets.ts";
import type { TaskHost } from "../src/task-hosts/task-host.ts";
import { cleanUp } from "./support/clean-up.ts";
import { assertResult, SIGNING_BUNDLE, startSigns, type TestRun } from "./support/signing-runs.ts";
import { startTaskHost } from "./support/start-task-host.ts";

async function startScene(t: TestContext) {
  const signs = await startSigns(t);
  const returned: string[] = [];
  const onReturned = (runs: readonly WaitingRun[]): void => {
    for (const run of runs) returned.push((run as TestRun).id);
  };
  return { ...signs, host: await startTaskHost(t, signs.folder, SIGNING_BUNDLE, { onReturned }), returned };
}

const give = (host: TaskHost, ...runs: TestRun[]): void => {
  for (const run of runs) assert.ok(host.give(run), "it has not taken all");
};

test("a process goes on from run to run, and each has what it wrote itself, however it wrote it", async (t) => {
  const { host, run } = await startScene(t);
  const runs = [
    run({ says: "one", child: "echo child; echo of one >&2" }),
    run(),
    run({ writes: [[2, "three"], [1, "\0"]] }), // prettier-ignore
    run({ says: "x".repeat(100_000), writes: [[2, "four\0"]] }),
    run({ child: "printf five" }),
  ];
  give(host, ...runs);
  for (const one of runs) await assertResult(one);
  assert.deepEqual(
    runs.map(({ output }) => output),
    [
      { stdout: "one\nchild\n", stderr: "of one\n" },
      { stdout: "", stderr: "" },
      { stdout: "\0", stderr: "three" },
      { stdout: `${"x".repeat(100_000)}\n`, stderr: "four\0" },
      { stdout: "five", stderr: "" },
    ],
  );
  const [first, ...others] = runs.map(({ told }) => told);
  assert.deepEqual(first, ["begun"]);
  // What one wrote may be read together with the end of the run before it.
  for (const told of others) assert.match(told.join(), /^(next,)?begun$/);
});

test("what a run writes is its own also when the marker before it was read before the run was given", async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written: [run: number, text: string][] = [];
  let next = 0;
  const output = new HostOutput({
    ...{
      stdout: stdout as unknown as Socket,
      stderr: stderr as unknown as Socket,
      marker: Buffer.from("\0mark"),
    },
    onOutput: (run, _, bytes) => void written.push([run, bytes.toString()]),
    nextAfter: (run) => (run < next ? next : 0),
    onClosed: () => undefined,
  });
  const write = (text: string): Promise<void> =>
    new Promise((resolve) => stdout.write(text, () => setImmediate(resolve)));
  output.begin(1);
  await write("one\0ma");
  await write("rk");
  await write("nobody's");
  next = 2;
  await write("two\0mark");
  next = 3;
  await write("three\0");
  output.end(3);
  output.destroy();
  assert.deepEqual(written, [
    [1, "one"],
    [0, "nobody's"],
    [2, "two"],
    [3, "three"],
    [3, "\0"],
  ]);
});

test("runs behind one that blocks its process are taken back at once, and do not begin there", async (t) => {
  const { host, run, returned, sign, hasBegun } = await startScene(t);
  const [first, second, third] = [run({ blocksUntil: sign("go") }), run(), run()];
  give(host, first, second, third);
  await until("the first run to block", 60_000, async () => hasBegun(first));
  host.takeBack();
  assert.deepEqual(returned, ["2", "3"]);
  assert.equal(host.takesBehind, false);
  writeFileSync(sign("go"), "");
  await assertResult(first);
  // It has the two in its memory until now.
  const next = run();
  give(host, next);
  await assertResult(next);
  assert.equal(host.takesBehind, true);
  const more = [run(), run()] as const;
  give(host, ...more);
  for (const one of more) await assertResult(one);
  assert.deepEqual([second, third].map(hasBegun), [false, false]);
  assert.deepEqual(second.told, ["returned"]);
});

test("a process that still looks for a run that was taken back draws no other one's ticket", async (t) => {
  const { host, run, returned, sign, hasBegun } = await startScene(t);
  const [first, second] = [run({ blocksUntil: sign("go"), leavesUntil: sign("look") }), run()];
  give(host, first, second);
  await until("the first run to block", 60_000, async () => hasBegun(first));
  host.takeBack();
  writeFileSync(sign("go"), "");
  await assertResult(first);
  // It is about to look for the second, and has not read of these.
  const third = run();
  give(host, third);
  const fourth = run();
  assert.equal(host.give(fourth), false);
  writeFileSync(sign("look"), "");
  await assertResult(third);
  give(host, fourth);
  await assertResult(fourth);
  assert.deepEqual([returned, hasBegun(second)], [["2"], false]);
});

test("a run that has begun is not taken back, though nothing was told of it", async (t) => {
  const { host, run, returned, sign, hasBegun } = await startScene(t);
  const [first, second, third] = [run(), run({ waitsUntil: sign("go") }), run()];
  give(host, first, second, third);
  await until("the second run to begin", 60_000, async () => hasBegun(second));
  assert.deepEqual(second.told.at(-1), "next");
  host.takeBack();
  assert.deepEqual([second.told, returned], [["next", "begun"], ["3"]]);
  writeFileSync(sign("go"), "");
  await assertResult(second);
});

test("a run that writes more than is kept for one that may not have begun has all of it", async (t) => {
  const { host, run, returned, sign } = await startScene(t);
  const [first, second, third] = [run(), run({ says: "x".repeat(2_000_000), waitsUntil: sign("go") }), run()];
  give(host, first, second, third);
  await until("the third run to be taken back", 60_000, async () => returned.includes("3"));
  writeFileSync(sign("go"), "");
  await Promise.all([assertResult(first), assertResult(second)]);
  assert.equal(second.output.stdout.length, 2_000_001);
});

test("a run that stops too late takes no other with it that has begun behind it", async (t) => {
  const { host, run, sign, hasBegun } = await startScene(t);
  const [first, second, third] = [run(), run({ waitsUntil: sign("go") }), run()];
  give(host, first, second, third);
  // They have been told to the process; nothing is read meanwhile: to the agent, the first one still runs.
  await Promise.resolve();
  while (!hasBegun(second)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  host.abandon(1, "cancelled");
  writeFileSync(sign("go"), "");
  await Promise.all([assertResult(first), assertResult(second)]);
  assert.equal(host.usable, true);
});

test("a run that does not stop takes its process with it, and those behind it begin elsewhere", async (t) => {
  const { host, run, returned, sign, hasBegun } = await startScene(t);
  const [first, second] = [run({ blocksUntil: sign("never") }), run()];
  give(host, first, second);
  await until("the first run to block", 60_000, async () => hasBegun(first));
  host.abandon(1, "cancelled");
  assert.equal((await first.ended).kind, "died");
  assert.deepEqual([returned, hasBegun(second)], [["2"], false]);
});

test("of a process that dies, one run has died: those before it have ended, and those behind it have not begun", async (t) => {
  const { host, run, returned, hasBegun } = await startScene(t);
  const [first, second, third] = [
    run({ says: "first" }),
    run({ exits: true, child: "echo last >&2" }),
    run(),
  ];
  give(host, first, second, third);
  await assertResult(first);
  const died = await second.ended;
  assert.equal(died.kind === "died" && died.death.exitCode, 3);
  assert.equal(died.kind === "died" && died.death.stderrTail, "last\n");
  assert.deepEqual([returned, hasBegun(third), second.told], [["3"], false, ["next", "begun"]]);
});

for (const [what, others, cause] of [
  ["all tickets were", 1, "ticket_taken"],
  ["one of two tickets was", 2, null],
] as const)
  test(`a process ends with the runs that it cannot begin, when ${what} taken by its code`, async (t) => {
    const { host, run, returned, sign, hasBegun } = await startScene(t);
    const first = run({ waitsUntil: sign("go"), steals: 1 });
    const rest = Array.from({ length: others }, () => run());
    give(host, first, ...rest);
    await until("the first run to begin", 60_000, async () => hasBegun(first));
    writeFileSync(sign("go"), "");
    await assertResult(first);
    for (const one of rest) {
      const died = await one.ended;
      assert.deepEqual([died.kind === "died" && died.death.killCause, hasBegun(one)], [cause, false]);
    }
    assert.deepEqual([returned, host.usable], [[], false]);
  });

test("an error that a run has left behind ends the process before the next run begins", async (t) => {
  const { host, run, returned, hasBegun } = await startScene(t);
  const [first, second] = [run({ rejects: true }), run()];
  give(host, first, second);
  await assertResult(first);
  await host.exited;
  assert.deepEqual([returned, hasBegun(second), second.told.includes("begun")], [["2"], false, false]);
});

test("without room on its disk for tickets, a process is given one run", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-given-"));
  cleanUp(t, () => removeTestFolder(folder));
  const tickets = new RunTickets(join(folder, "tickets"));
  assert.equal(tickets.issue(257), true);
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual([...tickets.takeBack()], [1]);
  assert.deepEqual([...tickets.takeBack()], []);
  tickets.close();
  assert.equal(tickets.issue(2), false);
});

test("a process that has had as many tickets as one has takes no more runs, and ends those that it has", async (t) => {
  const { host, run, returned } = await startScene(t);
  const runs: TestRun[] = [];
  for (let ended = 0; host.usable; ended += 1) {
    while (host.load < 30) {
      const next = run({}, "quick");
      give(host, next);
      runs.push(next);
    }
    await runs[ended]?.ended;
  }
  assert.ok(runs.length > MOST_TICKETS, `${runs.length} runs`);
  const others = new Set(returned);
  for (const one of runs) if (!others.has(one.id)) await assertResult(one);
  assert.ok(others.size < 30, `${others.size} taken back`);
});

test("each run begins once, whenever those are taken back that have not", async (t) => {
  const { host, run, returned, hasBegun, begun } = await startScene(t);
  const seed = newSeed();
  const random = seededRandom(seed);
  t.diagnostic(`seed ${seed}`);
  const rounds = isLong() ? 20_000 : 300;
  let [given, ended] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const most = 1 + Math.floor(random() * 6);
    const runs: TestRun[] = [];
    while (runs.length < most && (runs.length === 0 || host.takesBehind)) {
      runs.push(run({ says: `run ${given}` }));
      give(host, ...runs.slice(-1));
      given += 1;
    }
    // Anywhere between its begin and the end of the last.
    const turns = Math.floor(random() * 40);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    if (random() < 0.8) host.takeBack();
    await runs[0]?.ended;
    for (const one of runs) {
      if (returned.includes(one.id)) continue;
      await assertResult(one);
      ended += 1;
      assert.equal(one.output.stdout.match(/run/g)?.length, 1, `seed ${seed}, round ${round}`);
    }
    for (const one of runs)
      assert.equal(hasBegun(one), !returned.includes(one.id), `seed ${seed}, round ${round}`);
    if (returned.length > 1_000) returned.splice(0);
  }
  t.diagnostic(`${given} given, ${ended} ended, ${given - ended} taken back`);
  assert.equal(begun(), ended);
  assert.ok(ended < given, "none was taken back");
  assert.ok(ended > rounds, "none was begun behind another one");
  assert.ok(await readFile(`/proc/${host.pid}/comm`));
});

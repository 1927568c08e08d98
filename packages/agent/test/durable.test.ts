import assert from "node:assert/strict";
import { before, test } from "node:test";
import { hasEnded, isAlive } from "./support/alive.ts";
import { bundleOf } from "./support/bundles.ts";
import { bundleSource } from "./support/sdk-bundle.ts";
import type { RunRecord } from "./support/run-record.ts";
import { sharedAgent, startTestAgent } from "./support/start-test-agent.ts";
import { clock } from "./support/test-place.ts";
import { letPass } from "../../server/test/support/until.ts";

let source = "";

before(async () => {
  const bundle = await bundleSource(`
    import { spawn } from "node:child_process";
    import { createServer } from "node:net";
    import { Worker } from "node:worker_threads";
    import { step, task, tokens } from "@keelson/sdk";
    task({
      id: "approve",
      async run() {
        console.log("pid", process.pid);
        const charged = await step("charge", () => { console.log("charging"); return { cents: 995 }; });
        const token = await tokens.create();
        const { ok } = await token.wait();
        return { ok, ...charged };
      },
    });
    task({ id: "waits", async run() { console.log("pid", process.pid); await (await tokens.create()).wait(); return "awake"; } });
    task({
      id: "loop",
      async run(pids, ctx) {
        const more = [...pids, process.pid];
        await ctx.step("work", () => more.length);
        return more.length < 3 ? ctx.continueAs(more) : more;
      },
    });
    task({ id: "plain", run: () => process.pid });
    task({
      id: "at-work",
      async run(work) {
        console.log("pid", process.pid);
        if (work === "timer") setInterval(() => undefined, 60_000);
        if (work === "thread") new Worker("setInterval(() => undefined, 60_000)", { eval: true });
        if (work === "child") spawn("sleep", ["600"]);
        if (work === "server") await new Promise((done) => createServer().listen(0, "127.0.0.1", done));
        await (await tokens.create()).wait();
        return process.pid;
      },
    });
    task({
      id: "busy",
      maxDuration: "2s",
      async run() { await (await tokens.create()).wait(); for (const end = performance.now() + 400; performance.now() < end; ); return 1; },
    });
    task({
      id: "crash",
      async run() { console.log("pid", process.pid); await (await tokens.create()).wait(); return "survived"; },
    });
  `);
  source = new TextDecoder().decode(bundle.code);
});

const pidOf = (output: Buffer): number => Number(/pid ([0-9]+)/.exec(output.toString())?.[1]);

test("a run that waits is parked, suspended, and goes on when its token is completed", async () => {
  const { server } = await sharedAgent();
  const run = server.enqueue({ digest: server.putBundle(source), task: "approve", park_after: "0ms" });
  await run.until(() => run.isSuspended);
  assert.deepEqual(
    run.operations.map(({ kind }) => kind).filter((kind) => kind !== "logs" && kind !== "events"),
    ["start", "steps", "tokens", "waits", "checkpoints/ready", "release"],
  );
  await server.completeToken(run, { ok: true });
  const release = await run.released;
  assert.deepEqual(release.output, { ok: true, cents: 995 });
  assert.doesNotMatch(run.output("stdout").toString(), /charging/);
});

test("the process of a suspended run takes the next one", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  const digest = server.putBundle(source);
  const run = server.enqueue({ digest, task: "waits", park_after: "0ms" });
  await run.until(() => run.isSuspended);
  const pid = pidOf(run.output("stdout"));
  const next = await server.enqueue({ digest, task: "plain" }).released;
  assert.deepEqual([next.outcome, next.output], ["succeeded", pid]);
  await server.completeToken(run);
  assert.equal((await run.released).output, "awake");
  assert.equal(pidOf(run.output("stdout")), pid);
});

for (const work of ["timer", "child", "server", "thread"])
  test(`the process of a suspended run ends in which a ${work} of the run is at work`, async (t) => {
    const { server } = await startTestAgent(t, { capacity: 1 });
    const digest = server.putBundle(source);
    const run = server.enqueue({ digest, task: "at-work", payload: work, park_after: "0ms" });
    await run.until(() => run.isSuspended);
    const pid = pidOf(run.output("stdout"));
    // An idle process ends too, in a while; this one takes no run before.
    assert.notEqual((await server.enqueue({ digest, task: "plain" }).released).output, pid);
    await hasEnded(pid);
    await server.completeToken(run);
    assert.notEqual((await run.released).output, pid);
  });

const hasContinued = ({ operations }: RunRecord): boolean => {
  const last = operations.at(-1);
  return last?.kind === "release" && last.outcome === "continued";
};

test("a run that continues goes on in a warm process, with an empty journal", async () => {
  const { server } = await sharedAgent();
  const run = server.enqueue({ digest: server.putBundle(source), task: "loop", payload: [] });
  for (const continuations of [0, 1]) {
    await run.until(() => run.execution.run.continuations === continuations && hasContinued(run));
    clock.advance(1_000);
  }
  const { outcome, output } = await run.released;
  assert.equal(outcome, "succeeded");
  const pids = output as number[];
  assert.deepEqual([pids.length, new Set(pids).size], [3, 1]);
  const { journal, run: leased } = run.execution;
  assert.deepEqual([journal, leased.continuations, leased.attempt_number], [[], 2, 1]);
});

test("a parked run keeps its process for a while, and its slot is free for another", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  const digest = server.putBundle(source);
  const run = server.enqueue({ digest, task: "waits" });
  await run.until(() => run.isParked);
  assert.equal((await server.enqueue({ digest, task: "plain" }).released).outcome, "succeeded");
  const pid = pidOf(run.output("stdout"));
  assert.ok(isAlive(pid));
  await server.completeToken(run);
  assert.equal((await run.released).output, "awake");
  assert.equal(run.execution.epoch, 1);
});

test("no more runs than the agent has slots are parked: the one that waits longest is suspended", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  const digest = server.putBundle(source);
  const first = server.enqueue({ digest, task: "waits" });
  await first.until(() => first.isParked);
  const second = server.enqueue({ digest, task: "waits" });
  await first.until(() => first.isSuspended);
  assert.equal(second.isSuspended, false);
});

test("a drain suspends the runs that wait", async (t) => {
  const { server, agent } = await startTestAgent(t);
  const run = server.enqueue({ digest: server.putBundle(source), task: "waits" });
  await run.until(() => run.isParked);
  await agent.drain();
  assert.equal(run.isSuspended, true);
});

test("time that a run waits does not count against its max_duration", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(source);
  const run = server.enqueue({ digest, task: "busy", max_duration: "2s" });
  await run.until(() => run.isParked);
  await letPass(2_100, "longer than the run may take");
  await server.completeToken(run);
  assert.equal((await run.released).output, 1);
});

test("a run whose process is killed while it waits is suspended", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  const digest = server.putBundle(source);
  const run = server.enqueue({ digest, task: "crash" });
  // Only the slot of a run that is known to be parked is given to another.
  await server.enqueue({ digest, task: "plain" }).released;
  process.kill(pidOf(run.output("stdout")), "SIGKILL");
  await run.until(() => run.isSuspended);
  await server.completeToken(run);
  assert.equal((await run.released).output, "survived");
});

test("runs of a shared process are suspended one by one, and the process stays", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(source);
  const shared = (task: string, park_after: string) =>
    server.enqueue({ digest, task, execution: "shared", park_after });
  const staying = shared("waits", "30s");
  await staying.until(() => staying.isParked);
  const going = shared("waits", "0ms");
  await going.until(() => going.isSuspended);
  await server.completeToken(staying);
  assert.equal((await staying.released).output, "awake");
  await server.completeToken(going);
  assert.equal((await going.released).output, "awake");
});

test("a refused durable call reaches the code, and what was made after it is not lost", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      main: `
        const step = (position) => ctx.host.call({ kind: "steps", entries: [{ position, kind: "value", name: "v", value: position }] });
        const accept = (position) => ctx.host.call({ kind: "steps", entries: [{ position, kind: "wait", name: "never made" }] });
        const made = [step(1), accept(8), step(2)];
        console.log("between");
        made.push(step(3), accept(9), step(4));
        const results = await Promise.allSettled(made);
        return results.map(({ status, reason }) => status === "rejected" ? [reason.code, reason.message] : "fine");`,
    }),
  );
  const run = server.enqueue({ digest });
  const { output } = await run.released;
  assert.deepEqual(output, [
    "fine",
    ["invalid_state", "The wait at position 8 has not settled, or is accepted already."],
    "fine",
    "fine",
    ["invalid_state", "The wait at position 9 has not settled, or is accepted already."],
    "fine",
  ]);
  assert.deepEqual(
    (await server.journalOf(run)).map(({ position }) => position),
    [1, 2, 3, 4],
  );
  assert.equal(run.output("stdout").toString(), "between\n");
});

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../server/src/db/sql.ts";
import { until } from "../../server/test/support/until.ts";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { clock, sharedServer } from "./support/test-place.ts";

test("a lost reply to a lease or a report neither loses a run nor reports it twice", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(bundleOf({ main: `console.log("once"); return payload;` }));
  await server.enqueue({ digest }).released;
  server.fail("executions/report", "cut after");
  server.fail("executions/report", { status: 503 });
  const first = server.enqueue({ digest, payload: 1 });
  assert.equal((await first.released).output, 1);
  assert.equal(first.output("stdout").toString(), "once\n");
  // The open poll was sent before; the fault meets the one after it.
  server.fail("executions/lease", "cut after");
  const runs = [2, 3, 4].map((payload) => server.enqueue({ digest, payload }));
  for (const run of runs) await run.released;
  assert.deepEqual(
    runs.map((run) => run.release?.output),
    [2, 3, 4],
  );
});

test("a run began when its code did, and not when the server heard of it", async (t) => {
  const { server } = await startTestAgent(t);
  const main = `await new Promise((done) => ctx.signal.addEventListener("abort", done));`;
  const digest = server.putBundle(bundleOf({ main }));
  // Both are repeated after a moment, and the clock of the server stands still meanwhile.
  server.fail("executions/report", { status: 503 });
  server.fail("executions/report", { status: 503 });
  const run = server.enqueue({ digest });
  await run.until(() => run.operations.length > 0);
  await server.cancel(run);
  await run.released;
  const id = decodeId("run", run.execution.run.id);
  const { db } = await sharedServer();
  const [row] = await db.query<{ startedAt: number; finishedAt: number }>(
    sql`SELECT started_at, finished_at FROM run_results WHERE run_id = ${id}`,
  );
  assert.ok(row !== undefined && row.startedAt < row.finishedAt, JSON.stringify(row));
});

test("a lease that the server gave to another stops its run, and nothing more is reported for it", async (t) => {
  const { server, whenLogged } = await startTestAgent(t, { renewIntervalMs: 50 });
  const digest = server.putBundle(
    bundleOf({ main: `console.log(process.pid); await new Promise(() => {});`, next: `return "free";` }),
  );
  const other = await server.addWorker();
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "\n");
  const count = run.operations.length;
  const pid = Number(run.output("stdout").toString());
  const reconnect = server.disconnect();
  // A renewal that the server had before the cut may come after the time has moved.
  let taken: { run: { id: string } }[] = [];
  while (taken.length === 0) {
    // Less than a lease, so that the other one was there all the time.
    clock.advance(8_000);
    taken = (await other.lease({ limit: 1, wait: "2s" })).executions;
  }
  assert.equal(taken[0]?.run.id, run.execution.run.id);
  reconnect();
  await whenLogged(({ message, fields }) => message === "a task host ended" && fields["pid"] === pid);
  assert.equal((await server.enqueue({ digest, task: "next" }).released).output, "free");
  assert.equal(run.operations.length, count);
});

test("runs go on while their leases cannot be renewed, and keep their attempt when nobody took them", async (t) => {
  const { server, whenLogged, dataDir } = await startTestAgent(t, { renewIntervalMs: 50 });
  // The worker is told of shorter leases than those that it has.
  server.changeLeases((answer) => (answer.lease_duration = "1500ms"));
  const folder = join(dataDir, "told");
  await mkdir(folder);
  const digest = server.putBundle(
    bundleOf({
      main: `const { watch } = await import("node:fs");
        const told = new Promise((resolve) => watch(payload, resolve));
        console.log("up");
        await told;
        return "went on";`,
    }),
  );
  const run = server.enqueue({ digest, payload: folder });
  await run.outputHas("stdout", "up");
  const release = server.hold();
  await whenLogged(({ message }) => message.includes("could not be renewed for as long as they last"));
  release();
  await writeFile(join(folder, "go"), "");
  const { outcome, output } = await run.released;
  assert.deepEqual([outcome, output, run.execution.epoch], ["succeeded", "went on", 1]);
});

test("an operation that the server refuses fails the run with the reason", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(
    bundleOf({
      main: `ctx.host.metadata([{ op: "set", key: "k", value: "v".repeat(20_000) }]); console.log("after"); await new Promise(() => {});`,
    }),
  );
  const { outcome, failure } = await server.enqueue({ digest }).released;
  assert.equal(outcome, "failed");
  assert.match(failure?.message ?? "", /refused the run's metadata.*Metadata may be 16384 bytes/);
});

test("a bearer that is no longer accepted is replaced without losing work", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(
    bundleOf({ main: `await new Promise((resolve) => setTimeout(resolve, 50)); return 1;` }),
  );
  const run = server.enqueue({ digest });
  await run.leased;
  assert.equal(server.countCalls("auth/token"), 1);
  server.refuseBearers();
  assert.equal((await run.released).output, 1);
  assert.equal((await server.enqueue({ digest }).released).output, 1);
  assert.equal(server.countCalls("auth/token"), 2);
  assert.equal(run.execution.epoch, 1);
});

test("an agent that slept for longer than its bearer is valid stays the same worker", async (t) => {
  const { server } = await startTestAgent(t, { renewIntervalMs: 50 });
  const digest = server.putBundle(bundleOf({ main: `return 1;` }));
  await server.enqueue({ digest }).released;
  const reconnect = server.disconnect();
  clock.advance(8 * 3_600_000);
  reconnect();
  const again = server.enqueue({ digest });
  await again.released;
  assert.equal(await server.countWorkers(), 1);
});

test("a worker that the server no longer knows enrolls again, and executes what it had once more", async (t) => {
  const { server } = await startTestAgent(t, { renewIntervalMs: 50 });
  const digest = server.putBundle(
    bundleOf({
      main: `console.log("up"); if (ctx.run.attempt_number === 1) await new Promise(() => {}); return "again";`,
    }),
  );
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "up");
  const reconnect = server.disconnect();
  await server.forgetTokens();
  clock.advance(16_000);
  reconnect();
  // The worker that it was is given up once the one that it is has been heard for a whole lease.
  while (run.execution.epoch === 1) {
    const beats = server.countCalls("heartbeat");
    await until("it is heard", 10_000, async () => server.countCalls("heartbeat") > beats + 1);
    clock.advance(8_000);
  }
  assert.equal((await run.released).output, "again");
  assert.equal(run.execution.epoch, 2);
  assert.equal(server.countCalls("auth/token"), 4, "its first, two renewals that were refused, its second");
});

test("more runs than slots wait for a slot, and all are executed", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 2 });
  const digest = server.putBundle(
    bundleOf({ main: `await new Promise((resolve) => setTimeout(resolve, 20)); return payload;` }),
  );
  const runs = Array.from({ length: 12 }, (_, payload) => server.enqueue({ digest, payload }));
  const outputs = await Promise.all(runs.map(async (run) => (await run.released).output));
  assert.deepEqual(
    outputs,
    runs.map((_, index) => index),
  );
});

test("runs that were leased ahead of short ones and then wait behind a long one are handed back", async (t) => {
  const { server, dataDir } = await startTestAgent(t, { keepsUser: true, capacity: 1 });
  const long = `console.log("up"); while (!existsSync(payload)) await setTimeout(5);`;
  const imports = `import { existsSync } from "node:fs"; import { setTimeout } from "node:timers/promises";`;
  const digest = server.putBundle(bundleOf({ short: `return 1;`, long }, imports));
  await server.enqueue({ digest, task: "short" }).released;

  const leaseLongOnes = async (open: string): Promise<RunRecord[]> => {
    const release = server.hold();
    const short = Array.from({ length: 30 }, () => server.enqueue({ digest, task: "short" }));
    const runs = Array.from({ length: 10 }, () => server.enqueue({ digest, task: "long", payload: open }));
    await server.started();
    release();
    for (const run of short) assert.equal((await run.released).outcome, "succeeded");
    await runs[0]?.outputHas("stdout", "up");
    return runs;
  };
  for (let tries = 0; ; tries += 1) {
    const open = join(dataDir, `open-${tries}`);
    const [first, ...others] = (await leaseLongOnes(open)) as [RunRecord, ...RunRecord[]];
    const ahead = others.filter(({ isLeased }) => isLeased);
    if (ahead.length > 0) {
      for (const { released } of ahead) assert.equal((await released).outcome, "rejected");
      return assert.equal(first.release, null);
    }
    // On a machine that stood still after the last short one, none was leased ahead.
    await writeFile(open, "");
    await Promise.all([first, ...others].map(({ released }) => released));
  }
});

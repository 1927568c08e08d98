import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

test("a lost reply to a lease or a report neither loses a run nor reports it twice", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(bundleOf({ main: `console.log("once"); return payload;` }));
  await server.enqueue({ digest }).released;
  server.fail("executions/report", 0, true);
  server.fail("executions/report", 503);
  const first = server.enqueue({ digest, payload: 1 });
  assert.equal((await first.released).output, 1);
  assert.equal(first.output("stdout").toString(), "once\n");
  // The open poll was sent before; the fault meets the one after it.
  server.fail("executions/lease", 0, true);
  const runs = [2, 3, 4].map((payload) => server.enqueue({ digest, payload }));
  for (const run of runs) await run.released;
  assert.deepEqual(
    runs.map((run) => run.release?.output),
    [2, 3, 4],
  );
});

test("a lease that the server gave to another stops its run, and nothing more is reported for it", async (t) => {
  const { server, logged } = await startTestAgent(t, { renewIntervalMs: 50 });
  const digest = server.putBundle(
    bundleOf({ main: `console.log(process.pid); await new Promise(() => {});`, next: `return "free";` }),
  );
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "\n");
  const count = run.operations.length;
  run.lost = true;
  const pid = Number(run.output("stdout").toString());
  while (!logged.some(({ message, fields }) => message === "a task host ended" && fields["pid"] === pid))
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await server.enqueue({ digest, task: "next" }).released).output, "free");
  assert.equal(run.operations.length, count);
});

test("runs are stopped when their leases could not be renewed for as long as a lease lasts", async (t) => {
  const { server, logged } = await startTestAgent(t, { renewIntervalMs: 50 });
  server.leaseDuration = "400ms";
  const digest = server.putBundle(
    bundleOf({ main: `console.log("up"); await new Promise(() => {});`, next: `return 1;` }),
  );
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "up");
  const release = server.hold();
  while (!logged.some(({ message }) => message === "a task host ended"))
    await new Promise((resolve) => setTimeout(resolve, 20));
  release();
  assert.equal((await server.enqueue({ digest, task: "next" }).released).output, 1);
  assert.equal(run.release, null);
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
  assert.match(failure?.message ?? "", /refused the run's metadata.*over 16 KiB/);
});

test("a bearer that is no longer accepted is replaced without losing work", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(
    bundleOf({ main: `await new Promise((resolve) => setTimeout(resolve, 50)); return 1;` }),
  );
  const run = server.enqueue({ digest });
  await run.leased;
  server.tokens.clear();
  assert.equal((await run.released).output, 1);
  assert.equal((await server.enqueue({ digest }).released).output, 1);
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

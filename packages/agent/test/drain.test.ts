import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startTestAgent, type TestAgent } from "./support/start-test-agent.ts";
import { letPass } from "../../server/test/support/until.ts";

/** A run that has begun and ends when `end` is called. */
async function beginRun({ server, dataDir }: TestAgent): Promise<{ run: RunRecord; end(): void }> {
  const file = join(dataDir, "end-of-the-run");
  const main = `console.log("up");
    await new Promise((resolve) => { const look = setInterval(() => existsSync(payload) && resolve(clearInterval(look)), 5); });`;
  const digest = server.putBundle(bundleOf({ main }, `import { existsSync } from "node:fs";`));
  const run = server.enqueue({ digest, payload: file });
  await run.outputHas("stdout", "up");
  return { run, end: () => writeFileSync(file, "") };
}

// Each has an agent of its own, which takes its time to end.
describe("a drain", { concurrency: true }, () => {
  test("runs that do not finish within the drain timeout are stopped and handed back", async (t) => {
    const { server, agent } = await startTestAgent(t, { drainTimeoutMs: 100 });
    const digest = server.putBundle(bundleOf({ main: `console.log("up"); await new Promise(() => {});` }));
    const run = server.enqueue({ digest });
    await run.outputHas("stdout", "up");
    await agent.drain();
    assert.equal(run.release?.outcome, "rejected");
  });

  test("a drain that takes long names the runs that it waits for", async (t) => {
    const { server, agent, logged } = await startTestAgent(t, { drainTimeoutMs: 5_500 });
    const digest = server.putBundle(bundleOf({ main: `console.log("up"); await new Promise(() => {});` }));
    const run = server.enqueue({ digest });
    await run.outputHas("stdout", "up");
    await agent.drain();
    const said = logged.filter(({ message }) => /still ending|handing the running/.test(message));
    assert.deepEqual(
      said.map(({ level, fields }) => [level, fields["runs"]]),
      [
        ["warn", [run.execution.run.id]],
        ["warn", [run.execution.run.id]],
      ],
    );
  });

  test("code that has begun ends, though it said nothing of that; what has not is handed back", async (t) => {
    const { server, agent, dataDir } = await startTestAgent(t, { keepsUser: true, capacity: 2 });
    const main = `writeFileSync(payload.file, "");
      if (payload.takesLong) await setTimeout(500, null, { signal: ctx.signal });`;
    const imports = `import { writeFileSync } from "node:fs"; import { setTimeout } from "node:timers/promises";`;
    const digest = server.putBundle(bundleOf({ main }, imports));
    let count = 0;
    const enqueue = (takesLong: boolean) => {
      count += 1;
      const file = join(dataDir, `begun-${count}`);
      return { file, run: server.enqueue({ digest, payload: { file, takesLong } }) };
    };
    // Known to be short, they are given to the one process one behind the other.
    for (let times = 0; times < 30; times += 1) await enqueue(false).run.released;
    const runs = Array.from({ length: 40 }, (_, n) => enqueue(n === 20));
    while (!existsSync(runs[20]?.file ?? "")) await new Promise((resolve) => setImmediate(resolve));
    await agent.drain();
    for (const { file, run } of runs) {
      const outcome = run.release?.outcome ?? "rejected";
      assert.equal(outcome, existsSync(file) ? "succeeded" : "rejected");
    }
  });

  test("after a drain nothing is leased any more", async (t) => {
    const { server, agent } = await startTestAgent(t);
    await agent.drain();
    const run = server.enqueue({ digest: server.putBundle(bundleOf({ main: "" })) });
    await letPass(100, "the run would be leased by then");
    assert.equal(run.release, null);
  });

  test("what the last poll was given is asked for once the server knows of the drain", async (t) => {
    const { server, agent } = await startTestAgent(t);
    await server.called("executions/lease");
    const told = Promise.withResolvers<void>();
    server.fail("drain", { hold: told.promise });
    const drained = agent.drain();
    await server.called("drain");
    const before = server.countCalls("executions/lease");
    told.resolve();
    await drained;
    assert.equal(server.countCalls("executions/lease"), before + 1);
  });

  for (const silently of [false, true])
    test(`a drain on the server ends the agent, told by ${silently ? "a heartbeat" : "the lease call"}`, async (t) => {
      const { server, agent } = await startTestAgent(t, { drainTimeoutMs: 100, renewIntervalMs: 50 });
      const digest = server.putBundle(bundleOf({ main: `console.log("up"); await new Promise(() => {});` }));
      const run = server.enqueue({ digest });
      await run.outputHas("stdout", "up");
      if (silently) server.silence(agent.workerId);
      await server.drain(agent.workerId);
      await agent.ended;
      assert.equal(run.release?.outcome, "rejected");
      assert.ok(server.countCalls("drain") > 0);
    });

  test("a drained agent repeats its last report until the server takes it", async (t) => {
    const scene = await startTestAgent(t, { keepsUser: true });
    const { run, end } = await beginRun(scene);
    // With the pauses between them they take longer than the shortest time for it.
    for (let times = 0; times < 10; times += 1) scene.server.fail("executions/report", { status: 503 });
    end();
    await scene.agent.drain();
    assert.equal(run.release?.outcome, "succeeded");
    assert.ok(!scene.logged.some(({ message }) => message.includes("given up")));
  });

  test("a drained agent says what it gave up when the server takes no report", async (t) => {
    const scene = await startTestAgent(t, { keepsUser: true, drainTimeoutMs: 100 });
    const { run, end } = await beginRun(scene);
    scene.server.failAlways("executions/report", { status: 503 });
    end();
    await scene.agent.drain();
    const said = scene.logged.filter(({ message }) => message.includes("given up"));
    assert.deepEqual(
      said.map(({ level, fields }) => [level, fields["runs"]]),
      [["error", [run.execution.run.id]]],
    );
  });

  test("a worker that drains hands back the check that comes with its last poll", async (t) => {
    const { server, agent } = await startTestAgent(t);
    // Until it drains it hears of no check.
    const lost = Promise.withResolvers<void>();
    let isLosing = true;
    server.changeLeases((answer) => {
      if (isLosing && answer.deployment_checks.splice(0).length > 0) lost.resolve();
    });
    const checking = server.check(server.putBundle(bundleOf({ main: "" })));
    await lost.promise;
    isLosing = false;
    await agent.drain();
    const { status, error } = await checking;
    assert.deepEqual([status, error?.message], ["interrupted", "The worker is drained."]);
  });
});

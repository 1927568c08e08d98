import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

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

  test("after a drain nothing is leased any more", async (t) => {
    const { server, agent } = await startTestAgent(t);
    await agent.drain();
    const run = server.enqueue({ digest: server.putBundle(bundleOf({ main: "" })) });
    await new Promise((resolve) => setTimeout(resolve, 100)); // Nothing can be waited for that must not happen.
    assert.equal(run.release, null);
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
});

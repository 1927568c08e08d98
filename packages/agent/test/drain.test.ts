import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

test("runs that do not finish within the drain timeout are stopped and handed back", async (t) => {
  const { server, agent } = await startTestAgent(t, { drainTimeoutMs: 100 });
  const digest = server.putBundle(bundleOf({ main: `console.log("up"); await new Promise(() => {});` }));
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "up");
  await agent.drain();
  assert.equal(run.release?.outcome, "rejected");
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
    server.drain({ silently });
    await agent.ended;
    assert.equal(run.release?.outcome, "rejected");
    assert.ok(server.calls.some(({ path }) => path === "/worker/v1/drain"));
  });

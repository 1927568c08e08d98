import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { letPass } from "../../server/test/support/until.ts";

test("a flood is cut at the limit with a mark, and the run goes on to its result", async (t) => {
  const { server } = await startTestAgent(t, { maxLogBytes: 2_000_000 });
  const digest = server.putBundle(
    bundleOf({
      main: `const line = "y".repeat(99) + "\\n"; for (let i = 0; i < 100_000; i += 1) process.stdout.write(line); return "done";`,
    }),
  );
  const run = server.enqueue({ digest });
  assert.equal((await run.released).output, "done");
  const output = run.output("stdout").toString();
  assert.ok(output.endsWith("\n[keelson] output cut: more than 2000000 bytes\n"));
  assert.equal(output.indexOf("\n[keelson]"), 2_000_000);
});

test("output that cannot be sent holds its process up instead of filling the agent", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(
    bundleOf({
      main: `
        const line = "z".repeat(1023) + "\\n";
        for (let i = 0; i < 16 * 1024; i += 1) process.stdout.write(line);
        return "all written";`,
      warm: "",
    }),
  );
  await server.enqueue({ digest, task: "warm" }).released;
  const run = server.enqueue({ digest });
  await run.leased;
  const before = process.memoryUsage().arrayBuffers;
  const release = server.hold();
  await letPass(500, "the flood has half a second that nothing but backpressure stops");
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 * 1024 * 1024);
  release();
  assert.equal((await run.released).output, "all written");
  assert.equal(run.output("stdout").length, 16 * 1024 * 1024);
});

test("both streams keep the order in which they were written when there is time between", async (t) => {
  const { server } = await startTestAgent(t);
  // The streams are two pipes: what an agent on a busy machine finds in both of them at one look has no order.
  const digest = server.putBundle(
    bundleOf({
      main: `for (let i = 0; i < 6; i += 1) { process[i % 2 ? "stderr" : "stdout"].write(String(i)); await new Promise((resolve) => setTimeout(resolve, 50)); }`,
    }),
  );
  const run = server.enqueue({ digest });
  await run.released;
  const chunks = run.operations.flatMap((operation) => (operation.kind === "logs" ? operation.chunks : []));
  assert.equal(chunks.map(({ data }) => Buffer.from(data, "base64").toString()).join(""), "012345");
});

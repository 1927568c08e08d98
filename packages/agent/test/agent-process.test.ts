import assert from "node:assert/strict";
import { test } from "node:test";
import { hasEnded, isAlive } from "./support/alive.ts";
import { bundleOf } from "./support/bundles.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { spawnAgent } from "./support/spawn-agent.ts";

const tasks = {
  idle: `console.log("pid " + process.pid); await new Promise(() => {});`,
  busy: `console.log("pid " + process.pid); for (;;);`,
  child: `const child = spawn("sleep", ["1000"]); console.log("pid " + child.pid); await new Promise(() => {});`,
  short: `console.log("pid " + process.pid); await new Promise((resolve) => setTimeout(resolve, 300)); return "finished";`,
  long: `console.log("pid " + process.pid); await new Promise((resolve) => setTimeout(resolve, 1500)); return "finished";`,
};
const top = `import { spawn } from "node:child_process";`;
const pidOf = (output: Buffer) => Number(/pid ([0-9]+)/.exec(output.toString())?.[1]);

test("an agent that is killed leaves no process behind, neither an idle, nor a busy one, nor a child of one", async (t) => {
  const server = await startAgentServer(t);
  const agent = await spawnAgent(t, server.settings);
  const digest = server.putBundle(bundleOf(tasks, top));
  const runs = ["idle", "busy", "child"].map((task) => server.enqueue({ digest, task }));
  await Promise.all(runs.map((run) => run.outputHas("stdout", "\n")));
  const pids = runs.map((run) => pidOf(run.output("stdout")));
  assert.deepEqual(pids.map(isAlive), [true, true, true]);
  agent.child.kill("SIGKILL");
  await Promise.all(pids.map(hasEnded));
});

test(
  "SIGTERM lets running runs finish, takes no new ones, and ends the agent with code 0",
  { timeout: 60_000 },
  async (t) => {
    const server = await startAgentServer(t);
    const agent = await spawnAgent(t, server.settings);
    const digest = server.putBundle(bundleOf(tasks, top));
    const run = server.enqueue({ digest, task: "short" });
    await run.outputHas("stdout", "\n");
    agent.child.kill("SIGTERM");
    assert.equal((await run.released).output, "finished");
    assert.deepEqual(await agent.exited, { code: 0, signal: null });
    assert.ok(server.countCalls("drain") > 0);
    await hasEnded(pidOf(run.output("stdout")));
  },
);

test("signals that come again change nothing: the run finishes", { timeout: 60_000 }, async (t) => {
  const server = await startAgentServer(t);
  const agent = await spawnAgent(t, server.settings);
  const run = server.enqueue({ digest: server.putBundle(bundleOf(tasks, top)), task: "long" });
  await run.outputHas("stdout", "\n");
  agent.child.kill("SIGTERM");
  await server.called("drain");
  // The process of the run hears of it, too, when all of a control group are told.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) {
    agent.child.kill(signal);
    process.kill(pidOf(run.output("stdout")), signal);
  }
  assert.equal((await run.released).output, "finished");
  assert.deepEqual(await agent.exited, { code: 0, signal: null });
  await hasEnded(pidOf(run.output("stdout")));
});

test("a wrong configuration ends with code 78 and one line that names the variable", async (t) => {
  const agent = await spawnAgent(t, { KEELSON_URL: "ftp://example.com" });
  assert.equal((await agent.exited).code, 78);
  assert.equal(agent.stderr(), "KEELSON_URL is no http or https address: ftp://example.com\n");
});

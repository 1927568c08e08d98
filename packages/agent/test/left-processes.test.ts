import assert from "node:assert/strict";
import { test } from "node:test";
import { hasEnded, isAlive } from "./support/alive.ts";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { spawnAgent } from "./support/spawn-agent.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

const SOURCE = bundleOf(
  {
    leave: `return leave();`,
    crash: `console.log(leave().join(" ")); process.exit(3);`,
    hold: `console.log(leave().join(" ")); await new Promise(() => {});`,
    look: `return process.pid;`,
  },
  `import { spawn, spawnSync } from "node:child_process";
  function leave() {
    const own = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    own.unref();
    // Its parent is gone, it has a session of its own, and it holds the run's output open.
    const { stdout } = spawnSync("sh", ["-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait $!; :"], { timeout: 300, killSignal: "SIGKILL", encoding: "utf8" });
    return [process.pid, own.pid, Number(stdout)];
  }`,
);

const pidsOf = (run: RunRecord): number[] => run.output("stdout").toString().trim().split(" ").map(Number);

async function assertAllEnd(pids: number[]): Promise<void> {
  assert.equal(pids.length, 3, String(pids));
  for (const pid of pids) assert.ok(Number.isInteger(pid) && pid > 1, String(pids));
  await Promise.all(pids.map(hasEnded));
}

for (const execution of ["exclusive", "shared"] as const) {
  test(
    `what a run left in sessions of its own ends with its ${execution} process, however that ends`,
    { timeout: 60_000 },
    async (t) => {
      const { server } = await startTestAgent(t, { renewIntervalMs: 100 });
      const digest = server.putBundle(SOURCE);
      await server.putSecret("KEY", "swordfish");
      const left = (await server.enqueue({ digest, execution, task: "leave", secrets: ["KEY"] }).released)
        .output as number[];
      // Another process with leftovers of its own: nobody ends those of a process that lives.
      const living = (await server.enqueue({ digest, execution, task: "leave" }).released).output as number[];
      await server.putSecret("KEY", "marlin");
      await assertAllEnd(left);
      assert.deepEqual(living.map(isAlive), [true, true, true]);
      const crashed = server.enqueue({ digest, execution, task: "crash" });
      await crashed.released;
      if (execution === "exclusive") await assertAllEnd(pidsOf(crashed));
      await assertAllEnd(living);
    },
  );
}

test("an agent that stops leaves nothing that a run started", { timeout: 60_000 }, async (t) => {
  const { server, agent } = await startTestAgent(t);
  const digest = server.putBundle(SOURCE);
  const left = (await server.enqueue({ digest, task: "leave" }).released).output as number[];
  await agent.stop();
  assert.deepEqual(left.map(isAlive), [false, false, false]);
});

test(
  "an agent that is killed leaves nothing that a run started in sessions of its own",
  { timeout: 60_000 },
  async (t) => {
    const server = await startAgentServer(t);
    const agent = await spawnAgent(t, server.settings);
    const digest = server.putBundle(SOURCE);
    const held = server.enqueue({ digest, task: "hold" });
    await held.outputHas("stdout", "\n");
    const warm = (await server.enqueue({ digest, task: "leave" }).released).output as number[];
    agent.child.kill("SIGKILL");
    await assertAllEnd(pidsOf(held));
    await assertAllEnd(warm);
  },
);

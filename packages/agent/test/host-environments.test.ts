import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hasEnded, isAlive } from "./support/alive.ts";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import type { RunOptions } from "./support/start-agent-server.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";

const MODES = ["exclusive", "shared"] as const;
const ENVIRONMENTS = ["one", "other"] as const;
/** Longer than any test: what ends earlier was ended for a reason. */
const NO_HEARTBEAT = { renewIntervalMs: 600_000 };

const SOURCE = bundleOf(
  {
    main: `client ??= ctx.secrets.KEY; return { pid: process.pid, client };`,
    hold: `client ??= ctx.secrets.KEY; console.log("pid " + process.pid); while (!existsSync(payload)) await tick(10); return { pid: process.pid, client, key: ctx.secrets.KEY };`,
    open: `writeFileSync(payload, ""); return { pid: process.pid };`,
  },
  `import { existsSync, writeFileSync } from "node:fs";
  const tick = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  let client;`,
);

type Output = { pid: number; client?: string; key?: string };

async function output(run: RunRecord): Promise<Output> {
  const release = await run.released;
  assert.equal(release.outcome, "succeeded", JSON.stringify(release.failure));
  return release.output as Output;
}

const KEY: Partial<RunOptions> = { secrets: ["KEY"] };

async function makeGate(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-gate-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return join(folder, "go");
}

for (const execution of MODES) {
  test(`runs of two environments never meet in one ${execution} process, and each finds its own warm`, async (t) => {
    const { server } = await startTestAgent(t, NO_HEARTBEAT);
    const digest = server.putBundle(SOURCE);
    const pids: number[] = [];
    for (const environment of [...ENVIRONMENTS, ...ENVIRONMENTS])
      pids.push((await output(server.enqueue({ digest, execution, environment }))).pid);
    assert.notEqual(pids[0], pids[1]);
    assert.deepEqual(pids.slice(2), pids.slice(0, 2));
  });

  test(`a lease with a newer version ends idle ${execution} processes of the older one, and its run sees none of it`, async (t) => {
    const { server } = await startTestAgent(t, NO_HEARTBEAT);
    const digest = server.putBundle(SOURCE);
    await server.putSecret("KEY", "the first value");
    await server.putSecret("OTHER", "another value");
    const one = await output(server.enqueue({ digest, execution, ...KEY }));
    const other = await output(server.enqueue({ digest, execution, secrets: ["OTHER"] }));
    await server.putSecret("KEY", "the second value");
    const next = await output(server.enqueue({ digest, execution, ...KEY }));
    assert.deepEqual([one.client, next.client], ["the first value", "the second value"]);
    await hasEnded(one.pid);
    assert.ok(isAlive(other.pid), "a process without that secret was ended");
    // Deleted and created again: the same version number of another secret.
    await server.deleteSecret("KEY");
    await server.putSecret("KEY", "the first value of another");
    await server.putSecret("KEY", "the second value of another");
    const third = await output(server.enqueue({ digest, execution, ...KEY }));
    assert.equal(third.client, "the second value of another");
    await hasEnded(next.pid);
  });

  test(`what runs in a ${execution} process keeps the version that it began with, and the process ends with it`, async (t) => {
    const { server } = await startTestAgent(t, NO_HEARTBEAT);
    const digest = server.putBundle(SOURCE);
    const payload = await makeGate(t);
    await server.putSecret("KEY", "the first value");
    const held = server.enqueue({ digest, execution, task: "hold", payload, ...KEY });
    await held.outputHas("stdout", "pid");
    const { secrets, secret_versions } = held.execution;
    await server.putSecret("KEY", "the second value");
    const next = await output(server.enqueue({ digest, execution, ...KEY }));
    // The version that an attempt began with, as the server leases it again: it ends no process of the newer one.
    server.changeLeases(({ executions }) => {
      for (const leased of executions)
        if (leased.run.payload === "leased again") Object.assign(leased, { secrets, secret_versions });
    });
    const old = await output(server.enqueue({ digest, execution, payload: "leased again", ...KEY }));
    assert.equal(old.client, "the first value");
    assert.ok(isAlive(next.pid));
    const opened = await output(server.enqueue({ digest, execution, task: "open", payload, ...KEY }));
    const { pid, key, client } = await output(held);
    assert.deepEqual([key, client], ["the first value", "the first value"]);
    assert.equal(new Set([pid, next.pid, old.pid]).size, 3);
    assert.equal(opened.pid, next.pid);
    await hasEnded(pid);
  });

  test(`a heartbeat that tells of a rotation ends warm ${execution} processes without any new lease`, async (t) => {
    const { server } = await startTestAgent(t, { renewIntervalMs: 100 });
    const digest = server.putBundle(SOURCE);
    await server.putSecret("KEY", "the first value");
    await server.putSecret("KEY", "of another environment", ENVIRONMENTS[0]);
    const one = await output(server.enqueue({ digest, execution, ...KEY }));
    const other = await output(server.enqueue({ digest, execution, environment: ENVIRONMENTS[0], ...KEY }));
    await server.putSecret("KEY", "the second value");
    await hasEnded(one.pid);
    assert.ok(isAlive(other.pid));
  });
}

test("tasks of one bundle that declare other secrets do not share a process", async (t) => {
  const { server } = await startTestAgent(t, NO_HEARTBEAT);
  const digest = server.putBundle(SOURCE);
  await server.putSecret("KEY", "the value");
  const one = await output(server.enqueue({ digest, ...KEY }));
  const none = await output(server.enqueue({ digest }));
  const again = await output(server.enqueue({ digest, ...KEY }));
  assert.notEqual(none.pid, one.pid);
  assert.equal(again.pid, one.pid);
});

test("the process that checked a deployment is for runs of its environment alone", async (t) => {
  const { server } = await startTestAgent(t, NO_HEARTBEAT);
  const booted = `${await makeGate(t)}.booted`;
  const top = `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(booted)}, process.pid + "\\n");`;
  const digest = server.putBundle(bundleOf({ main: `return { pid: process.pid };` }, top));
  assert.equal((await server.check(digest)).status, "ready");
  const foreign = await output(server.enqueue({ digest, environment: ENVIRONMENTS[0] }));
  const own = await output(server.enqueue({ digest }));
  const pids = (await readFile(booted, "utf8")).trim().split("\n").map(Number);
  assert.deepEqual(pids, [own.pid, foreign.pid]);
});

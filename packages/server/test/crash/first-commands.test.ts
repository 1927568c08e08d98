// The first command of a workspace and a later one: how few calls they take, and a kill of their agent at each of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startStepProxy, type Step, type StepProxy } from "./support/step-proxy.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";
import { letPass, until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
let proxy: StepProxy;
let agent: SpawnedProcess;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: "30s" });
  proxy = await startStepProxy(() => site.url);
  agent = site.agent({
    ...{ name: "agent 1", server: site.servers[0]!, capacity: 4 },
    env: { KEELSON_URL: proxy.url },
  });
  await agent.start();
});
after(async () => {
  await proxy?.stop();
  await site?.stop();
});

const LIVE = /POST .*\/workspaces\/live$/;
const OUTPUT = /POST .*\/workspaces\/processes\/output$/;

async function start(script: string, extra: object = {}): Promise<string> {
  const { id } = await site.create();
  const path = `/api/workspaces/${id}/execs`;
  const { status, body } = await site.call(site.url, "POST", path, {
    body: { command: ["sh", "-c", script], ...extra },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return `${path}/${body.id}`;
}

/** What the agent says of the workspace until the output is there, but for its polls. */
const callsOf = (): string[] =>
  proxy.calls
    .filter((call) => /workspaces|blobs/.test(call) && !/workspaces\/(lease|renew)$/.test(call))
    .map((call) => call.replace(/^.*\/worker\/v1\//, ""));

test("between the lease and the first byte an agent makes two calls", async () => {
  const before = callsOf().length;
  const path = await start("echo first");
  await until("the command has ended", 40_000, async () => (await site.process(path)).finished_at !== null);
  assert.equal(await site.output(`${path}/stdout`), "first\n");
  assert.deepEqual(callsOf().slice(before, before + 2), ["workspaces/live", "workspaces/processes/output"]);
});

test("input that comes with the first command is read by it", async () => {
  const stdin = Buffer.from("to be read").toString("base64");
  const path = await start("cat", { stdin });
  const ended = await site.untilOver(path);
  assert.deepEqual([ended.exit_code, await site.output(`${path}/stdout`)], [0, "to be read"]);
});

/** A kill of the agent there, and how a command goes on that runs at most once, and one that runs again. */
const KILLS: { name: string; step: Step; reject: string; rerun: string }[] = [
  { name: "before live", step: { calls: LIVE, at: "before" }, reject: "exited", rerun: "exited" },
  { name: "after live", step: { calls: LIVE, at: "after" }, reject: "lost", rerun: "exited" },
  { name: "before its output", step: { calls: OUTPUT, at: "before" }, reject: "exited", rerun: "exited" },
];

for (const { name, step, ...ends } of KILLS)
  for (const onLost of ["reject", "rerun"] as const)
    test(`a kill of the agent ${name} leaves a first command with on_lost ${onLost} ${ends[onLost]}`, async () => {
      const killed = proxy.once(step, () => agent.kill());
      const path = await start("echo one >> ran; cat ran", { on_lost: onLost });
      await killed;
      await agent.start();
      const ended = await site.untilOver(path);
      assert.equal(ended.status, ends[onLost], JSON.stringify(ended));
      // It began once at most, or anew from the last version.
      if (ended.status === "exited") assert.equal(await site.output(`${path}/stdout`), "one\n");
    });

const POLL = /POST .*\/workspaces\/lease$/;

/** A workspace that is live, whose agent waits for more. @returns the path of its commands. */
async function liveCommands(): Promise<string> {
  const path = await start("echo zero >> ran");
  const { status } = await site.untilOver(path);
  assert.equal(status, "exited");
  await letPass(300, "the poll that was opened with the first command looks for more");
  return path.replace(/\/[^/]+$/, "");
}

async function later(path: string): Promise<string> {
  const { status, body } = await site.call(site.url, "POST", path, {
    body: { command: ["sh", "-c", "echo one >> ran; cat ran"] },
  });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(body.status, "running");
  return `${path}/${body.id}`;
}

test("a later command takes no call before its first byte", async () => {
  const path = await liveCommands();
  const before = callsOf().length;
  const command = await later(path);
  assert.equal((await site.untilOver(command)).exit_code, 0);
  assert.equal(callsOf()[before], "workspaces/processes/output");
  assert.equal(await site.output(`${command}/stdout`), "zero\none\n");
});

test("one whose poll was not answered is begun by the next poll, once", async () => {
  const path = await liveCommands();
  let dropped = 0;
  void proxy.once({ calls: POLL, at: "after" }, () => {
    dropped += 1;
    return Promise.reject(new Error("the answer is lost"));
  });
  const ended = await site.untilOver(await later(path));
  assert.deepEqual([dropped, ended.status], [1, "exited"]);
  assert.equal(await site.output(`${path}/${ended.id}/stdout`), "zero\none\n");
});

test("one that an agent was given and has not begun when it is killed is begun by its next process, once", async () => {
  const path = await liveCommands();
  const killed = proxy.once({ calls: POLL, at: "after" }, () => agent.kill());
  const command = await later(path);
  await killed;
  await agent.start();
  const ended = await site.untilOver(command);
  assert.equal(ended.status, "exited", JSON.stringify(ended));
  assert.equal(await site.output(`${command}/stdout`), "zero\none\n");
});

// An answer is stopped while its code waits for a child run and a command, and then the agent or the server is killed: both end all the same.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { until } from "../support/until.ts";
import type { ServerProcess } from "./support/site.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

/** The command takes no notice of SIGTERM. */
const CODE = `
import { actor, InterruptedError, task } from "@keelson/sdk";

export const nap = task({
  id: "nap",
  async run(name: string, { wait }) {
    await wait.for("1d");
    return name;
  },
});

const outcomeOf = (call: Promise<unknown>) =>
  call.then(() => "ended", (error) => (error instanceof InterruptedError ? "interrupted" : String(error)));

export const answerer = actor({
  id: "answerer",
  retry: { maxAttempts: 10, initialDelay: "100ms", jitter: false },
  async run(session, { workspace }) {
    for await (const _ of session.input) {
      const message = await session.output.message();
      await nap.start("started", { tags: ["started"] });
      const command = ["sh", "-c", "trap '' TERM; echo begun; while true; do sleep 1; done"];
      const outcomes = await Promise.all([outcomeOf(nap.call("called", { tags: ["called"] })), outcomeOf(workspace.exec(command))]);
      await session.output("log").append({ outcomes, status: await message.end() });
    }
  },
});
`;

let site: WorkspaceSite;
let server: ServerProcess;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: "6s", parkAfter: "200ms" });
  server = site.servers[0] as ServerProcess;
  const agent = await startAgent();
  await deployCode(site, server, CODE);
  await agent.kill();
});
after(() => site?.stop());
afterEach(() => site.killAgents());

const startAgent = (): Promise<WorkspaceAgent> => site.startAgent(4);

async function call(method: string, path: string, body?: object): Promise<Body> {
  const answer = await site.call(site.url, method, path, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const childrenOf = async (run: string): Promise<Body[]> =>
  (await call("GET", `/v1/runs?parent_run_id=${run}&limit=10`)).runs;

/** A session whose answer waits for a child run and a command, and what there is of it. */
async function begin(): Promise<{ session: string; workspace: string; run: string; message: string }> {
  const { id: workspace } = await site.create();
  const { id: session } = await call("POST", "/v1/sessions", {
    ...{ actor: "answerer", workspace_id: workspace },
  });
  await call("POST", `/v1/sessions/${session}/inputs`, { data: "go" });
  let begun: Body;
  await until("the answer waits for both", 120_000, async () => {
    const { messages } = await call("GET", `/v1/sessions/${session}/messages?status=open`);
    [begun] = messages;
    if (begun === undefined) return false;
    const { execs } = await call("GET", `/api/workspaces/${workspace}/execs`);
    const isRunning = execs[0]?.stdout.bytes > 0;
    return isRunning && (await childrenOf(begun.run_id)).length === 2;
  });
  return { session, workspace, run: begun.run_id, message: begun.id };
}

const VICTIMS: [who: string, kill: (agent: WorkspaceAgent) => Promise<void>][] = [
  ["nobody", async () => undefined],
  [
    "the agent",
    async (agent) => {
      await agent.kill();
      await startAgent();
    },
  ],
  [
    "the server",
    async () => {
      await server.kill();
      await server.start();
    },
  ],
];

for (const [who, kill] of VICTIMS)
  test(`what a stopped answer waited for is ended when ${who} is killed`, async () => {
    const agent = await startAgent();
    const { session, workspace, run, message } = await begin();
    await call("POST", `/v1/sessions/${session}/interrupt`, { message_id: message });
    await kill(agent);
    let log: Body[] = [];
    await until("the answer has ended", 120_000, async () => {
      const answer = await site.call(site.url, "GET", `/v1/sessions/${session}/outputs?stream=log`);
      log = answer.status === 200 ? answer.body.records : [];
      return log.length > 0;
    });
    assert.deepEqual(
      log.map(({ data }) => data),
      [{ outcomes: ["interrupted", "interrupted"], status: "interrupted" }],
    );
    await until("the child run and the command are over", 120_000, async () => {
      const children = await childrenOf(run);
      const statuses = new Map(children.map(({ tags, status }) => [tags[0], status]));
      const { execs } = await call("GET", `/api/workspaces/${workspace}/execs`);
      assert.notEqual(statuses.get("started"), "cancelled");
      return statuses.get("called") === "cancelled" && execs[0].finished_at !== null;
    });
    const { execs } = await call("GET", `/api/workspaces/${workspace}/execs`);
    assert.equal(execs.length, 1);
    // With its agent, the machine of the command is lost.
    assert.ok(execs[0].status === "cancelled" || who === "the agent", execs[0].status);
    if (who === "nobody") assert.equal(execs[0].signal, "SIGKILL");
  });

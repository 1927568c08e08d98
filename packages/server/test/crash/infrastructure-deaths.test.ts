// What infrastructure takes is not the fault of anybody's code: hosts, agents and supervisors that are killed under runs.

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { until } from "../support/until.ts";
import { supervisorsOf } from "./support/supervisors.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

/** While `armed` is there, a process that imports the bundle stops, after it has written its id into `importing`. */
const codeOf = (dir: string): string => `
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { ExecLostError, task } from "@keelson/sdk";

if (existsSync(${JSON.stringify(path.join(dir, "armed"))})) {
  writeFileSync(${JSON.stringify(path.join(dir, "importing.new"))}, String(process.pid));
  renameSync(${JSON.stringify(path.join(dir, "importing.new"))}, ${JSON.stringify(path.join(dir, "importing"))});
  await new Promise(() => setInterval(() => {}, 1000));
}

const retry = { maxAttempts: 1, initialDelay: "100ms", jitter: false } as const;

export const victim = task({
  id: "victim",
  retry,
  async run({ kills }: { kills: number }, ctx) {
    if (ctx.attempt.number > kills) return ctx.attempt.number;
    ctx.metadata.set("pid", process.pid);
    await new Promise(() => setInterval(() => {}, 1000));
  },
});

export const effect = task({
  id: "effect",
  retry,
  async run({ onLost }: { onLost?: "reject" | "rerun" }, ctx) {
    await ctx.workspace.exec(["sh", "-c", "echo before >> effect.txt"]);
    try {
      const command = ["sh", "-c", "echo once >> effect.txt; echo begun; sleep 4; echo ended"];
      const { stdout, exitCode } = await ctx.workspace.exec(command, onLost === undefined ? {} : { onLost });
      return { stdout, exitCode, attempt: ctx.attempt.number };
    } catch (error) {
      return error instanceof ExecLostError ? { lost: error.message } : Promise.reject(error);
    }
  },
});
`;

let site: WorkspaceSite;
let dir: string;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: "6s" });
  dir = site.open;
  const agent = await startAgent();
  await deployCode(site, site.servers[0]!, codeOf(dir));
  await agent.kill();
});
after(() => site?.stop());
afterEach(() => site.killAgents());

const startAgent = (): Promise<WorkspaceAgent> => site.startAgent(4);

async function start(task: string, payload: object): Promise<Body> {
  const answer = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, { body: { payload } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** In a workspace of its own. */
async function startEffect(payload: object): Promise<{ run: Body; workspace: string }> {
  const { id } = await site.create();
  const body = { payload, workspace_id: id };
  const answer = await site.call(site.url, "POST", "/v1/tasks/effect/start", { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return { run: answer.body, workspace: id };
}

const getRun = async ({ id }: Body): Promise<Body> =>
  (await site.call(site.url, "GET", `/v1/runs/${id}`)).body;

async function untilRun(run: Body, status: string): Promise<Body> {
  let seen: Body = null;
  await until(`the run is ${status}`, 120_000, async () => {
    seen = await getRun(run);
    if (seen.finished_at !== null) assert.equal(seen.status, status, JSON.stringify(seen.failure));
    return seen.status === status;
  });
  return seen;
}

const execs = async (workspace: string): Promise<Body[]> =>
  (await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`)).body.execs;

/** Resolves when the run's second command has written something. */
const untilBegun = (workspace: string): Promise<void> =>
  until("the command has begun", 60_000, async () => {
    const all = await execs(workspace);
    return all.length === 2 && all[0].stdout.bytes > 0;
  });

const lostEvents = async ({ id }: Body): Promise<Body[]> =>
  (await site.call(site.url, "GET", `/v1/runs/${id}/events`)).body.events.filter(
    ({ kind }: Body) => kind === "lease.lost",
  );

test("a process that is killed while it imports the bundle costs its run no attempt", async () => {
  const [armed, importing] = [path.join(dir, "armed"), path.join(dir, "importing")];
  writeFileSync(armed, "");
  await startAgent();
  const run = await start("victim", { kills: 0 });
  for (let kill = 1; kill <= 3; kill += 1) {
    await until("the bundle is imported", 60_000, async () => existsSync(importing));
    const pid = Number(readFileSync(importing, "utf8"));
    rmSync(importing);
    if (kill === 3) rmSync(armed);
    process.kill(pid, "SIGKILL");
    await until("the kill is told", 30_000, async () => (await lostEvents(run)).length === kill);
  }
  const { output, attempt_number } = await untilRun(run, "succeeded");
  assert.deepEqual([output, attempt_number], [1, 1]);
  const [first] = await lostEvents(run);
  assert.match(first.message, /outside the worker ended the process by SIGKILL/);
});

async function killAttempts(run: Body, kills: number): Promise<void> {
  let last: unknown = null;
  for (let kill = 1; kill <= kills; kill += 1) {
    let pid: unknown = null;
    await until(`attempt ${kill} is under way`, 60_000, async () => {
      const seen = await getRun(run);
      pid = seen.metadata.pid ?? null;
      return seen.attempt_number === kill && pid !== null && pid !== last;
    });
    last = pid;
    process.kill(Number(pid), "SIGKILL");
  }
}

test("a process that is killed in the only attempt gets an extra one", async () => {
  await startAgent();
  const run = await start("victim", { kills: 1 });
  await killAttempts(run, 1);
  const { output, max_attempts } = await untilRun(run, "succeeded");
  assert.deepEqual([output, max_attempts], [2, 1]);
});

test("six kills in a row end a run of one attempt as system_failed, and it says why", async () => {
  await startAgent();
  const run = await start("victim", { kills: 100 });
  await killAttempts(run, 6);
  const { failure, attempt_number } = await untilRun(run, "system_failed");
  assert.deepEqual([failure.kind, attempt_number], ["lease_lost", 6]);
  assert.match(failure.message, /by SIGKILL.*max_attempts is 1, and 5 more were given/);
});

async function expectOnce(run: Body, workspace: string): Promise<void> {
  const { output } = await untilRun(run, "succeeded");
  assert.deepEqual([output.stdout, output.exitCode], ["begun\nended\n", 0]);
  assert.equal(await site.read(workspace, "effect.txt"), "before\nonce\n");
  const all = await execs(workspace);
  assert.deepEqual(
    all.map(({ status, reruns }: Body) => [status, reruns]),
    [
      ["exited", 1],
      ["exited", 0],
    ],
  );
}

test("a run whose agent is killed during a command ends well, with the command's effects once", async () => {
  const first = await startAgent();
  const { run, workspace } = await startEffect({});
  await untilBegun(workspace);
  await first.kill();
  await startAgent();
  await expectOnce(run, workspace);
});

test("a run whose supervisor is killed during a command ends well, with the command's effects once", async () => {
  const agent = await startAgent();
  const { run, workspace } = await startEffect({});
  await untilBegun(workspace);
  const supervisors = supervisorsOf(agent);
  // The workspace's, and one that is booted ahead.
  assert.ok(supervisors.length > 0);
  for (const pid of supervisors) process.kill(pid, "SIGKILL");
  await expectOnce(run, workspace);
});

test("a run whose agent and supervisor are killed, and whose agent comes back, ends well all the same", async () => {
  const agent = await startAgent();
  const { run, workspace } = await startEffect({});
  await untilBegun(workspace);
  const supervisors = supervisorsOf(agent);
  agent.signal("SIGKILL");
  for (const pid of supervisors) process.kill(pid, "SIGKILL");
  await agent.ended();
  await agent.start();
  await expectOnce(run, workspace);
});

test("a run that wants it so is told of a lost command, in every replay", async () => {
  const agent = await startAgent();
  const { run, workspace } = await startEffect({ onLost: "reject" });
  await untilBegun(workspace);
  for (const pid of supervisorsOf(agent)) process.kill(pid, "SIGKILL");
  const { output } = await untilRun(run, "succeeded");
  assert.match(output.lost, /was lost with the machine it ran on/);
  assert.equal(await site.read(workspace, "effect.txt"), "before\n");
});

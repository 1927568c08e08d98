// Tasks in the namespace tier do what tasks do, from their own command line to the server and the workspace.

import assert from "node:assert/strict";
import { chmod, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";
import { removeTestFolder } from "../support/test-folder.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

const codeFor = (folder: string): string => `
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { actor, Client, sandbox, task, wait } from "@keelson/sdk";

const box = sandbox({ id: "box" });

export const work = task({
  id: "work",
  isolation: "namespace",
  folders: [${JSON.stringify(folder)}],
  sandbox: box,
  async run(_payload: object, ctx) {
    const { files } = ctx.workspace;
    await files.write("in.txt", "by the task");
    const { stdout } = await ctx.workspace.exec(["sh", "-c", "cat in.txt; echo by command > out.txt"]);
    const counts = await ctx.step("count", () => ctx.client.runs.counts());
    const again = await new Client().runs.counts();
    console.log("working");
    return {
      stdout,
      read: new TextDecoder().decode(await files.read("out.txt")),
      seen: existsSync(ctx.workspace.path),
      declared: readFileSync(${JSON.stringify(path.join(folder, "given.txt"))}, "utf8"),
      pids: readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length,
      counted: [typeof counts, typeof again],
    };
  },
});

export const patient = task({
  id: "patient",
  isolation: "namespace",
  execution: "shared",
  async run(_payload: object) {
    await wait.for("1s");
    return readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length;
  },
});

export const chat = actor({
  id: "chat",
  isolation: "namespace",
  async run(session) {
    const heard = await session.input.receive();
    return { isHeard: heard !== null, pids: readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length };
  },
});
`;

let site: WorkspaceSite;
let folder = "";
let problem: string | null = null;
before(async () => {
  site = await startWorkspaceSite();
  await site.startAgent();
  const { body } = await site.call(site.url, "GET", "/admin/api/v1/workers?status=active", {
    as: site.credentials.admin_key,
  });
  const [worker] = body.workers;
  if (worker.task_isolation !== "namespace")
    problem = `no namespace tier here: ${worker.task_isolation_problem}`;
  folder = await realpath(await mkdtemp(path.join(tmpdir(), "keelson-declared-")));
  await chmod(folder, 0o755);
  await writeFile(path.join(folder, "given.txt"), "of the machine");
  await deployCode(site, site.servers[0]!, codeFor(folder));
});
after(async () => {
  await removeTestFolder(folder);
  await site?.stop();
});

const skipsWithout = (t: TestContext): boolean => {
  if (problem !== null) t.skip(problem);
  return problem !== null;
};

async function untilEnded(id: string): Promise<Body> {
  let run: Body = null;
  await until(`run ${id} ends`, 60_000, async () => {
    run = (await site.call(site.url, "GET", `/v1/runs/${id}`)).body;
    return run.finished_at !== null;
  });
  assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
  return run.output;
}

const start = async (task: string): Promise<Body> => {
  const answer = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, { body: { payload: {} } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};

test("reaches the server, and its workspace's files and commands, but not its folder", async (t) => {
  if (skipsWithout(t)) return;
  assert.deepEqual(await untilEnded((await start("work")).id), {
    stdout: "by the task",
    read: "by command\n",
    seen: false,
    declared: "of the machine",
    pids: 2,
    counted: ["object", "object"],
  });
});

test("waits and goes on, in a shared process too", async (t) => {
  if (skipsWithout(t)) return;
  assert.equal(await untilEnded((await start("patient")).id), 2);
});

test("is a turn of an actor, too", async (t) => {
  if (skipsWithout(t)) return;
  const { status, body } = await site.call(site.url, "POST", "/v1/actors/chat/start", {
    body: { input: "hello" },
  });
  assert.equal(status, 201, JSON.stringify(body));
  const output = await untilEnded(body.run.id);
  assert.deepEqual(output, { isHeard: true, pids: 2 });
});

test("waits with the reason while no worker has the tier", async (t) => {
  if (problem === null) return t.skip("the worker here has the tier");
  const { id } = await start("work");
  const { status, status_reason: reason } = (await site.call(site.url, "GET", `/v1/runs/${id}`)).body;
  assert.deepEqual([status, reason.kind], ["queued", "no_worker"]);
});

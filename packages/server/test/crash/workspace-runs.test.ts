// Runs that work in workspaces, on agents of their own: edited by path and by command, committed, suspended, killed.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

const CODE = `
import { access, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sandbox, step, task, tokens, WorkspaceFileError } from "@keelson/sdk";

export const greeting = sandbox({ id: "greeting", env: { GREETING: "hello" } });

export const edit = task({
  id: "edit",
  sandbox: greeting,
  async run(_payload, ctx) {
    await writeFile(join(ctx.workspace.path, "notes.txt"), "by path\\n");
    const command = ["sh", "-c", "echo by command >> notes.txt; echo $GREETING; cat; exit 3"];
    const { exitCode, stdout } = await ctx.workspace.exec(command, { stdin: "and input" });
    await writeFile(join(ctx.workspace.path, "last.txt"), "the end");
    return { exitCode, stdout };
  },
});

export const files = task({
  id: "files",
  async run(_payload, ctx) {
    const { exec, files } = ctx.workspace;
    await files.write("src/in.txt", "grüße\\n");
    await exec(["sh", "-c", "cat src/in.txt >> src/in.txt.2; ln -s /etc/passwd planted; echo more >> src/in.txt"]);
    const text = await step("read", () => files.readText("src/in.txt"));
    await files.write("large.bin", (async function* () {
      for (let piece = 0; piece < 40; piece += 1) yield new Uint8Array(100_000).fill(piece);
    })());
    let size = 0;
    for await (const piece of files.readStream("large.bin")) size += piece.length;
    const whole = await files.read("large.bin");
    const code = (call) => call.then(() => "answered", (error) => error instanceof WorkspaceFileError && error.code);
    const codes = [
      await code(files.read("planted")),
      await code(files.read("none")),
      await code(files.read("src")),
      await code(files.write("../out", "x")),
      await code(files.remove("src")),
    ];
    // Many at once, none of them read to its end.
    await Promise.all(Array.from({ length: 50 }, async () => {
      for await (const piece of files.readStream("large.bin")) if (piece.length > 0) break;
    }));
    await files.write("planted", "mine");
    await files.remove("src/in.txt.2");
    await files.remove("none", { force: true });
    const { sizeBytes, kind, modifiedAt } = await files.stat("large.bin");
    const entries = (await files.list()).map(({ name }) => name);
    return { text, size, last: whole.at(-1), codes, entries, stat: [sizeBytes, kind, modifiedAt instanceof Date] };
  },
});

export const nap = task({
  id: "nap",
  async run(_payload, ctx) {
    const { stdout } = await ctx.workspace.exec(["sh", "-c", "echo $$ | tee pid.txt"]);
    await writeFile(join(ctx.workspace.path, "before.txt"), "written before the wait");
    await (await tokens.create()).wait();
    return { files: (await readdir(ctx.workspace.path)).sort(), pid: stdout };
  },
});

export const stubborn = task({
  id: "stubborn",
  retry: { maxAttempts: 3, initialDelay: "100ms", jitter: false },
  async run(_payload, ctx) {
    await ctx.workspace.exec(["sh", "-c", "echo kept > kept.txt"]);
    if (ctx.attempt.number === 1) {
      await writeFile(join(ctx.workspace.path, "lost.txt"), "never committed");
      ctx.metadata.set("isReady", true);
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
    return (await readdir(ctx.workspace.path)).sort();
  },
});

export const meet = task({
  id: "meet",
  async run({ mine, theirs }: { mine: string; theirs: string }, ctx) {
    await writeFile(join(ctx.workspace.path, mine), mine);
    const isThere = () => access(join(ctx.workspace.path, theirs)).then(() => true, () => false);
    while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 20));
    return ctx.workspace.path;
  },
});

export const enough = task({
  id: "enough",
  async run(_payload, ctx) {
    const { exec, files } = ctx.workspace;
    const stop = new AbortController();
    const script = "trap 'echo asked > asked.txt; exit 7' TERM; echo begun > begun.txt; while true; do sleep 0.05; done";
    const running = exec(["sh", "-c", script], { signal: stop.signal }).catch((error) => error.message);
    while (!(await files.stat("begun.txt").then(() => true, () => false)));
    stop.abort(new Error("enough"));
    return [await running, await files.readText("asked.txt")];
  },
});

export const leave = task({
  id: "leave",
  async run(_payload, ctx) {
    ctx.metadata.set("isReady", true);
    await ctx.workspace.exec(["sleep", "600"]);
  },
});
`;

let site: WorkspaceSite;
before(async () => {
  site = await startWorkspaceSite({ parkAfter: "200ms" });
  const agent = await startAgent();
  await deployCode(site, site.servers[0]!, CODE);
  await agent.kill();
});
after(() => site?.stop());
afterEach(() => site.killAgents());

const startAgent = (): Promise<WorkspaceAgent> => site.startAgent(4);

async function start(task: string, body: object = {}): Promise<Body> {
  const answer = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const getRun = async ({ id }: Body): Promise<Body> =>
  (await site.call(site.url, "GET", `/v1/runs/${id}`)).body;

async function untilRun(run: Body, what: string, holds: (seen: Body) => boolean): Promise<Body> {
  let seen: Body = null;
  await until(`run ${what}`, 120_000, async () => {
    seen = await getRun(run);
    assert.ok(!["failed", "system_failed"].includes(seen.status), JSON.stringify(seen.failure));
    return holds(seen);
  });
  return seen;
}

const succeeds = (run: Body): Promise<Body> =>
  untilRun(run, "succeeds", ({ status }) => status === "succeeded");
const causes = async (workspace: string): Promise<string[]> =>
  (await site.versions(workspace)).map(({ cause }) => cause.kind);

test("a run edits the files of its workspace by path and by command, and leaves a version", async () => {
  await startAgent();
  const run = await start("edit");
  const ended = await succeeds(run);
  assert.deepEqual(ended.output, { exitCode: 3, stdout: "hello\nand input" });
  const { workspace_id: workspace } = ended;
  assert.equal(await site.read(workspace, "notes.txt"), "by path\nby command\n");
  assert.equal(await site.read(workspace, "last.txt"), "the end");
  const [newest] = await site.versions(workspace);
  assert.deepEqual(newest.cause, { kind: "run", id: run.id });
  assert.equal((await site.get(workspace)).sandbox, "greeting");
  const { body } = await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`);
  assert.deepEqual(
    body.execs.map(({ status, exit_code }: Body) => [status, exit_code]),
    [["exited", 3]],
  );
});

test("a run reads and writes files of its workspace, in pieces too, and none outside", async () => {
  await startAgent();
  const ended = await succeeds(await start("files", { workspace_id: (await site.create()).id }));
  assert.deepEqual(ended.output, {
    ...{ text: "grüße\nmore\n", size: 4_000_000, last: 39 },
    codes: ["is_link", "not_found", "is_folder", "invalid_path", "folder_not_empty"],
    entries: ["large.bin", "planted", "src"],
    stat: [4_000_000, "file", true],
  });
  assert.equal(await site.read(ended.workspace_id, "planted"), "mine");
  assert.equal(await site.read(ended.workspace_id, "src/in.txt"), "grüße\nmore\n");
});

test("a suspended run has its files in a version, and goes on with them on another machine", async () => {
  const first = await startAgent();
  const { id: workspace } = await site.create();
  const run = await start("nap", { workspace_id: workspace });
  await untilRun(run, "waits", ({ status }) => status === "waiting");
  await until("the run is suspended", 90_000, async () => (await causes(workspace))[0] === "run");
  assert.equal(await site.read(workspace, "before.txt"), "written before the wait");
  await until("the workspace is stopped", 90_000, async () => {
    const { body } = await site.act(workspace, "stop");
    return body.materialization?.status === "stopped";
  });
  await first.kill();
  await startAgent();
  const { body } = await site.call(site.url, "GET", "/v1/tokens?status=pending");
  await site.call(site.url, "POST", `/v1/tokens/${body.tokens[0].id}/complete`, { body: { data: null } });
  const { output, attempt_number } = await succeeds(run);
  assert.deepEqual([output.files, attempt_number], [["before.txt", "pid.txt"], 1]);
  assert.equal(await site.read(workspace, "pid.txt"), output.pid);
});

test("a run whose agent is killed goes on elsewhere from the last version", async () => {
  const first = await startAgent();
  const { id: workspace } = await site.create();
  const run = await start("stubborn", { workspace_id: workspace });
  await untilRun(run, "is under way", ({ metadata }) => metadata.isReady === true);
  await first.kill();
  await startAgent();
  const { output, attempt_number } = await succeeds(run);
  assert.deepEqual([output, attempt_number], [["kept.txt"], 2]);
  const { body } = await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`);
  assert.equal(body.execs.length, 1);
});

test("two runs in one workspace work in the same folder, on the same machine", async () => {
  await Promise.all([startAgent(), startAgent()]);
  const { id: workspace } = await site.create();
  const runs = await Promise.all([
    start("meet", { workspace_id: workspace, payload: { mine: "a.txt", theirs: "b.txt" } }),
    start("meet", { workspace_id: workspace, payload: { mine: "b.txt", theirs: "a.txt" } }),
  ]);
  const [one, other] = await Promise.all(runs.map(succeeds));
  assert.equal(one.output, other.output);
  assert.deepEqual(await site.files(workspace), ["file a.txt", "file b.txt"]);
});

test("a command of a run that is cancelled is ended with it", async () => {
  await startAgent();
  const { id: workspace } = await site.create();
  const run = await start("leave", { workspace_id: workspace });
  const execs = async (): Promise<Body[]> =>
    (await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`)).body.execs;
  await until("the command runs", 90_000, async () => (await execs())[0]?.status === "running");
  await site.call(site.url, "POST", `/v1/runs/${run.id}/cancel`);
  await until("the command is ended", 120_000, async () => (await execs())[0]?.signal === "SIGKILL");
  assert.equal((await getRun(run)).status, "cancelled");
});

test("a command is asked to end by its signal, and its call rejects when it has", async () => {
  await startAgent();
  const { id: workspace } = await site.create();
  const { output } = await succeeds(await start("enough", { workspace_id: workspace }));
  assert.deepEqual(output, ["enough", "asked\n"]);
  const { body } = await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`);
  assert.deepEqual(
    body.execs.map(({ status, exit_code }: Body) => [status, exit_code]),
    [["cancelled", 7]],
  );
});

/** Resolves with a run that has ended, whatever way; one that does not is shown with what it works in. */
async function isOver(run: Body, workspace: string): Promise<Body> {
  let seen: Body = null;
  try {
    await until("the run is over", 120_000, async () => {
      seen = await getRun(run);
      return seen.finished_at !== null;
    });
  } catch (error) {
    const place = await site.get(workspace);
    const { body: execs } = await site.call(site.url, "GET", `/api/workspaces/${workspace}/execs`);
    throw new Error(`It goes on: ${JSON.stringify({ run: seen, place, execs })}`, { cause: error });
  }
  return seen;
}

// Their commands have come to different points by then: asked for, waiting to begin, begun.
test("runs whose workspaces are deleted end, and say so", async () => {
  await startAgent();
  const endOne = async (): Promise<void> => {
    const { id: workspace } = await site.create();
    const run = await start("leave", { workspace_id: workspace });
    await until("a run is under way", 90_000, async () => (await getRun(run)).metadata.isReady === true);
    const deleted = await site.call(site.url, "DELETE", `/api/workspaces/${workspace}`);
    assert.ok(deleted.status < 300, JSON.stringify(deleted.body));
    const { status, failure } = await isOver(run, workspace);
    assert.equal(status, "failed");
    assert.deepEqual([failure.retryable, /deleted/.test(failure.message)], [false, true], failure.message);
  };
  await Promise.all([endOne(), endOne(), endOne()]);
});

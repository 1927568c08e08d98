import assert from "node:assert/strict";
import { test } from "node:test";
import { ExecLostError, step, wait, type RunContext } from "@keelson/sdk";
import { declare, failureOf, outputOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";

/** Declares a run in a workspace of its own. */
async function declareInWorkspace(code: (ctx: RunContext) => unknown) {
  const { server } = await testWorker();
  const { status, body } = await server.call("POST", "/api/workspaces", { body: {} });
  assert.equal(status, 201);
  const workspaceId = body.id as string;
  const declared = declare(code, { workspace_id: workspaceId });
  const commands = async (): Promise<string[][]> => {
    const { execs } = await declared.run.call("GET", `/api/workspaces/${workspaceId}/execs`);
    return execs.map(({ command }: { command: string[] }) => command);
  };
  return { ...declared, workspaceId, commands };
}

test("a run has the id and the folder of its workspace", async () => {
  const code = (ctx: RunContext) => [ctx.workspace.id, ctx.workspace.path, ctx.run.workspaceId];
  const { workspaceId, ended } = await declareInWorkspace(code);
  const path = "/srv/workspaces/1";
  assert.deepEqual(outputOf(await ended({ workspacePath: path })), [workspaceId, path, workspaceId]);
});

test("a run without one is told what to do, and its context can still be spread", async () => {
  const { ended } = declare(async (ctx) => {
    assert.equal({ ...ctx }.run.workspaceId, null);
    return ctx.workspace.path;
  });
  const { message } = failureOf(await ended());
  assert.match(message, /workspaceId.*sandbox/);
});

test("a command runs once, and every replay has its outcome with what it wrote", async () => {
  const { run, start, commands } = await declareInWorkspace(async (ctx) => {
    const { exitCode, stdout, bytes } = await ctx.workspace.exec(["npm", "test"], { cwd: "app" });
    await wait.for("1m");
    return { exitCode, stdout, size: bytes.stdout.length };
  });
  const first = start();
  await run.endExec({ outcome: "exited", exit_code: 2, stdout: "2 passed\n" });
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(3);
  assert.deepEqual(outputOf(await start({ workspacePath: "/elsewhere" }).ended), {
    exitCode: 2,
    stdout: "2 passed\n",
    size: 9,
  });
  assert.deepEqual(await commands(), [["npm", "test"]]);
  assert.deepEqual(
    (await run.journal()).map(({ kind, name }) => [kind, name]),
    [
      ["exec", "npm test"],
      ["step", "npm test"],
      ["wait", "for"],
    ],
  );
});

test("a command that was interrupted is not started again: the run that goes on waits for its end", async () => {
  const { run, start, commands } = await declareInWorkspace(
    async (ctx) => (await ctx.workspace.exec(["make"])).exitCode,
  );
  const first = start({ dieAt: { call: 0, applied: true } });
  assert.equal(await first.ended, null);
  const second = start();
  await second.begun;
  await run.endExec({ outcome: "exited", exit_code: 0 });
  assert.equal(outputOf(await second.ended), 0);
  assert.deepEqual(await commands(), [["make"]]);
});

test("a command that could not be started rejects, the same way when it is replayed", async () => {
  const { run, start } = await declareInWorkspace(async (ctx) => {
    const message = await ctx.workspace.exec(["nope"]).catch((error: Error) => error.message);
    await wait.for("1m");
    return message;
  });
  const first = start();
  await run.endExec({ outcome: "failed", error: { message: "no such program" } });
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(3);
  assert.match(String(outputOf(await start().ended)), /"nope" could not be started: no such program/);
});

test("a command that was lost and is not to run again rejects with an error of its own, in every replay", async () => {
  const { run, start, commands } = await declareInWorkspace(async (ctx) => {
    const caught: unknown = await ctx.workspace.exec(["make"], { onLost: "reject" }).catch((error) => error);
    await wait.for("1m");
    return caught instanceof ExecLostError ? [caught.name, caught.execId, caught.message] : null;
  });
  const first = start();
  const id = await run.endExec({ outcome: "lost", error: { message: "the supervisor ended" } });
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(3);
  assert.deepEqual(outputOf(await start().ended), [
    "ExecLostError",
    id,
    '"make" was lost with the machine it ran on: nobody knows how it ended',
  ]);
  assert.deepEqual(await commands(), [["make"]]);
});

test("a command inside a step is refused, because it is one by itself", async () => {
  const { ended, commands } = await declareInWorkspace(async (ctx) =>
    step("build", () => ctx.workspace.exec(["make"])),
  );
  assert.match(failureOf(await ended()).message, /inside the step "build"/);
  assert.deepEqual(await commands(), []);
});

test("a replay that would run another command is refused", async () => {
  let command = "first";
  const { run, start } = await declareInWorkspace(async (ctx) => {
    await ctx.workspace.exec([command]);
    await wait.for("1m");
  });
  const first = start();
  await run.endExec({ outcome: "exited", exit_code: 0 });
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  command = "second";
  await run.passWait(3);
  assert.equal(failureOf(await start().ended).kind, "nondeterministic_replay");
});

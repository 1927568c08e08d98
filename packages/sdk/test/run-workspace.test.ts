import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ExecLostError, step, wait, type RunContext } from "@keelson/sdk";
import { until } from "../../server/test/support/until.ts";
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
  const statusOf = async (execId: string): Promise<string> =>
    (await declared.run.call("GET", `/api/workspaces/${workspaceId}/execs/${execId}`)).status;
  return { ...declared, workspaceId, commands, statusOf };
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

describe("a command with a signal", () => {
  const seen: unknown[] = [];
  let aborting = new AbortController();
  const code = async ({ workspace }: RunContext): Promise<unknown> => {
    const { signal } = aborting;
    const error: unknown = await workspace.exec(["make"], { signal }).catch((thrown: unknown) => thrown);
    seen.push(error);
    await wait.for("1m");
    return (error as Error).name;
  };

  test("is asked to end when that is aborted, and rejects with the reason once it has ended", async () => {
    aborting = new AbortController();
    const { run, start, statusOf } = await declareInWorkspace(code);
    const first = start();
    const id = await run.beginExec();
    aborting.abort(new RangeError("enough"));
    await until("it was asked to end", 60_000, async () =>
      run.applied.some((call) => call.kind === "waits" && call.cancels?.includes(2) === true),
    );
    assert.equal(await statusOf(id), "running");
    await run.endExec({ outcome: "cancelled" });
    await first.parked();
    assert.equal((seen.at(-1) as Error).message, "enough");
    assert.equal(first.suspend(), true);
    await first.ended;
    // The outcome is in the journal, whatever the signal is now.
    aborting = new AbortController();
    await run.passWait(4);
    assert.equal(outputOf(await start().ended), "AbortError");
  });

  test("does not start when that is aborted before, also in a replay", async () => {
    aborting = new AbortController();
    aborting.abort(new RangeError("never"));
    const { run, start, commands } = await declareInWorkspace(code);
    const first = start();
    await first.parked();
    assert.equal((seen.at(-1) as Error).message, "never");
    assert.equal(first.suspend(), true);
    await first.ended;
    aborting = new AbortController();
    await run.passWait(2);
    assert.equal(outputOf(await start().ended), "AbortError");
    assert.deepEqual(await commands(), []);
  });

  test("that is aborted only in a replay has its outcome", async () => {
    aborting = new AbortController();
    const { run, start } = await declareInWorkspace(async (ctx) => {
      const { exitCode } = await ctx.workspace.exec(["make"], { signal: aborting.signal });
      await wait.for("1m");
      return exitCode;
    });
    const first = start();
    await run.endExec({ outcome: "exited", exit_code: 2 });
    await first.parked();
    assert.equal(first.suspend(), true);
    await first.ended;
    aborting.abort();
    await run.passWait(4);
    assert.equal(outputOf(await start().ended), 2);
  });
});

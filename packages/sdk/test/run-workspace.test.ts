import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecResult } from "@keelson/contract";
import { ExecLostError, step, wait } from "@keelson/sdk";
import { declare, failureOf, outputOf } from "./support/declare.ts";

const workspace = { id: "ws_1", path: "/srv/workspaces/1" };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const ended = (extra: Partial<ExecResult> = {}): ExecResult => ({
  id: "exec_1",
  workspace_id: workspace.id,
  command: ["npm", "test"],
  cwd: "",
  env_names: [],
  status: "exited",
  exit_code: 0,
  signal: null,
  timeout: null,
  timed_out: false,
  on_lost: "rerun",
  reruns: 0,
  error: null,
  version_id: null,
  started_at: "2026-11-20T09:15:00.123Z",
  finished_at: "2026-11-20T09:15:01.123Z",
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:01.123Z",
  stdout: base64("2 passed\n"),
  stderr: "",
  stdout_truncated: false,
  stderr_truncated: false,
  ...extra,
});

test("a run has the id and the folder of its workspace", async () => {
  const { start } = declare(async (ctx) => [ctx.workspace.id, ctx.workspace.path, ctx.run.workspaceId]);
  assert.deepEqual(outputOf(await start({ workspace }).ended), [workspace.id, workspace.path, workspace.id]);
});

test("a run without one is told what to do, and its context can still be spread", async () => {
  const { start } = declare(async (ctx) => {
    assert.equal({ ...ctx }.run.workspaceId, null);
    return ctx.workspace.path;
  });
  const { message } = failureOf(await start().ended);
  assert.match(message, /workspaceId.*sandbox/);
});

test("a command runs once, and every replay has its outcome with what it wrote", async () => {
  const { server, start } = declare(async (ctx) => {
    const { exitCode, stdout, bytes } = await ctx.workspace.exec(["npm", "test"], { cwd: "app" });
    await wait.for("1h");
    return { exitCode, stdout, size: bytes.stdout.length };
  });
  server.ended.set("exec_1", ended({ exit_code: 2 }));
  const first = start({ workspace });
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  server.settle(3, "resolved");
  assert.deepEqual(outputOf(await start({ workspace: { ...workspace, path: "/elsewhere" } }).ended), {
    exitCode: 2,
    stdout: "2 passed\n",
    size: 9,
  });
  assert.deepEqual(server.commands, [["npm", "test"]]);
  assert.deepEqual(
    server.journal.map(({ kind, name }) => [kind, name]),
    [
      ["exec", "npm test"],
      ["step", "npm test"],
      ["wait", "for"],
    ],
  );
});

test("a command that was interrupted is not started again: the run that goes on waits for its end", async () => {
  const { server, start } = declare(async (ctx) => (await ctx.workspace.exec(["make"])).exitCode);
  const first = start({ workspace, dieAt: { call: 0, applied: true } });
  assert.equal(await first.ended, null);
  server.ended.set("exec_1", ended());
  assert.equal(outputOf(await start({ workspace }).ended), 0);
  assert.deepEqual(server.commands, [["make"]]);
});

test("a command that could not be started rejects, the same way when it is replayed", async () => {
  const { server, start } = declare(async (ctx) => {
    const message = await ctx.workspace.exec(["nope"]).catch((error: Error) => error.message);
    await wait.for("1h");
    return message;
  });
  server.ended.set("exec_1", ended({ status: "failed", error: { message: "no such program" } }));
  const first = start({ workspace });
  await first.parked();
  first.suspend();
  server.settle(3, "resolved");
  assert.match(
    String(outputOf(await start({ workspace }).ended)),
    /"nope" could not be started: no such program/,
  );
});

test("a command that was lost and is not to run again rejects with an error of its own, in every replay", async () => {
  const { server, start } = declare(async (ctx) => {
    const caught: unknown = await ctx.workspace.exec(["make"], { onLost: "reject" }).catch((error) => error);
    await wait.for("1h");
    return caught instanceof ExecLostError ? [caught.name, caught.execId, caught.message] : null;
  });
  server.ended.set("exec_1", ended({ status: "lost", on_lost: "reject" }));
  const first = start({ workspace });
  await first.parked();
  first.suspend();
  server.settle(3, "resolved");
  assert.deepEqual(outputOf(await start({ workspace }).ended), [
    "ExecLostError",
    "exec_1",
    '"make" was lost with the machine it ran on: nobody knows how it ended',
  ]);
  assert.deepEqual(server.commands, [["make"]]);
});

test("a command inside a step is refused, because it is one by itself", async () => {
  const { server, start } = declare(async (ctx) => step("build", () => ctx.workspace.exec(["make"])));
  assert.match(failureOf(await start({ workspace }).ended).message, /inside the step "build"/);
  assert.deepEqual(server.commands, []);
});

test("a replay that would run another command is refused", async () => {
  let command = "first";
  const { server, start } = declare(async (ctx) => {
    await ctx.workspace.exec([command]);
    await wait.for("1h");
  });
  server.ended.set("exec_1", ended());
  const first = start({ workspace });
  await first.parked();
  first.suspend();
  command = "second";
  server.settle(3, "resolved");
  assert.equal(failureOf(await start({ workspace }).ended).kind, "nondeterministic_replay");
});

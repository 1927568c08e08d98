// Commands that the tools of a chat run in the workspace of their run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { InterruptedError, type RunContext } from "@keelson/sdk";
import { chatActor, runCommand } from "@keelson/sdk/ai";
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { sql } from "../../server/src/db/sql.ts";
import { until } from "../../server/test/support/until.ts";
import { readPrompt, scriptedModel } from "./support/chat-model.ts";
import { outputOf, runOf } from "./support/declare.ts";
import { interrupt } from "./support/interrupt.ts";
import { testWorker } from "./support/test-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

type Execute = (ctx: RunContext, call: { abortSignal?: AbortSignal }) => Promise<unknown>;

const COMMAND = ["npm", "test"];
let chats = 0;

/** A chat in a workspace of its own whose model calls one tool and then says something. */
async function declareCoder(execute: Execute) {
  const { server, workspaces } = await testWorker();
  const created = await server.call("POST", "/api/workspaces", { body: {} });
  assert.equal(created.status, 201, created.text);
  const workspaceId = created.body.id as string;
  const prompts: string[][] = [];
  const model = scriptedModel((prompt) => {
    prompts.push(readPrompt(prompt));
    return prompts.length === 1 ? { calls: { run_tests: {} } } : { text: "Done." };
  });
  const tools = (ctx: RunContext): ToolSet => ({
    run_tests: tool({ inputSchema: z.object({}), execute: (_, call) => execute(ctx, call) }),
  });
  const toolRetry = { maxAttempts: 2, initialDelay: "1ms", jitter: false } as const;
  const { id } = chatActor({ id: `coder-${(chats += 1)}`, model, tools, toolRetry });
  const { run, start } = runOf({ kind: "actor", id }, { workspace_id: workspaceId });
  const { session, id: runId } = await run.started();
  const message = { id: "q", role: "user", parts: [{ type: "text", text: "Test it" }] };
  await run.call("POST", `/api/sessions/${session.id}/inputs/input`, { data: { message } });
  /** The turn ends when all is answered. */
  const close = (): Promise<Json> => run.call("POST", `/api/sessions/${session.id}/close`, {});
  const path = `/api/workspaces/${workspaceId}/execs`;
  const commands = async (): Promise<Json[]> => (await run.call("GET", path)).execs;
  return {
    ...{ run, start, prompts, commands, close },
    begun: () => until("its command is asked for", 60_000, async () => (await commands()).length > 0),
    startCommand: async (): Promise<void> => workspaces.start(runId, (await commands())[0].id),
    endCommand: async (stdout: string): Promise<void> => {
      const ending = { outcome: "exited", exit_code: 1, stdout } as const;
      await workspaces.end(runId, (await commands())[0].id, ending);
    },
  };
}

/** Signals that the worker which runs the command has not taken yet. */
async function signalsTo(execId: string): Promise<string[]> {
  const { server } = await testWorker();
  const rows = await server.db.query<{ signal: string }>(
    sql`SELECT signal FROM process_controls WHERE process_id = ${decodeId("exec", execId)} ORDER BY sequence`,
  );
  return rows.map(({ signal }) => signal);
}

const run_tests: Execute = async (ctx, call) => {
  const { exitCode, stdout } = await runCommand(ctx, COMMAND, call, { timeout: "5m" });
  return { exitCode, stdout };
};

describe("a command of a tool", () => {
  test("is one for all tries of its call, and the model is told how it ended", async () => {
    let tries = 0;
    const coder = await declareCoder(async (ctx, call) => {
      tries += 1;
      if (tries > 1) return run_tests(ctx, call);
      void run_tests(ctx, call).catch(() => undefined);
      await coder.begun();
      throw new Error("once more");
    });
    const { ended } = coder.start();
    await until("it is tried again", 60_000, async () => tries === 2);
    await coder.endCommand("1 failed\n");
    await coder.close();
    outputOf(await ended);
    assert.deepEqual(
      (await coder.commands()).map(({ command }) => command),
      [COMMAND],
    );
    const told = 'tool: run_tests = {"type":"json","value":{"exitCode":1,"stdout":"1 failed\\n"}}';
    assert.equal(coder.prompts[1]?.at(-1), told);
  });

  test("that has not begun is cancelled when somebody stops the answer", async () => {
    const coder = await declareCoder(run_tests);
    const { ended } = coder.start();
    await coder.begun();
    await interrupt(coder.run);
    await until("it is cancelled", 60_000, async () => (await coder.commands())[0].status === "cancelled");
    await coder.close();
    outputOf(await ended);
  });

  test("that runs is told to end, and is killed when it does not", async () => {
    const seen: unknown[] = [];
    const coder = await declareCoder((ctx, call) =>
      run_tests(ctx, call).catch((error: unknown) => {
        seen.push(error);
        throw error;
      }),
    );
    const { ended } = coder.start();
    await coder.begun();
    await coder.startCommand();
    const [{ id }] = await coder.commands();
    await interrupt(coder.run);
    // A second try of the call, if there is one, asks again.
    await until("it is killed", 60_000, async () => (await signalsTo(id)).includes("SIGKILL"));
    assert.deepEqual((await signalsTo(id)).slice(0, 2), ["SIGTERM", "SIGKILL"]);
    await until("the tool is told", 60_000, async () => seen.length > 0);
    assert.ok(seen[0] instanceof InterruptedError);
    await coder.close();
    outputOf(await ended);
  });

  test("goes on when its try ends otherwise", async () => {
    const lost = new Error("The lease is lost.");
    let rejected: unknown;
    let tries = 0;
    const coder = await declareCoder(async (ctx, call) => {
      tries += 1;
      if (tries > 1) return run_tests(ctx, call);
      const given = { ...call, abortSignal: AbortSignal.abort(lost) };
      rejected = await runCommand(ctx, COMMAND, given).catch((error: unknown) => error);
      throw new Error("once more");
    });
    const { ended } = coder.start();
    await until("it is tried again", 60_000, async () => tries === 2);
    assert.equal(rejected, lost);
    await coder.endCommand("fine");
    await coder.close();
    outputOf(await ended);
    assert.equal((await coder.commands()).length, 1);
  });
});

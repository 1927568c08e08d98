// An interrupt ends the child runs and the commands that the code waits for.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { InterruptedError, task, type RunContext, type RunSession } from "@keelson/sdk";
import { sql } from "../../server/src/db/sql.ts";
import { until } from "../../server/test/support/until.ts";
import { declareActor, outputOf } from "./support/declare.ts";
import type { ExecutionOptions } from "./support/execution.ts";
import { interrupt } from "./support/interrupt.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { outlastLease } from "./support/outlast-lease.ts";
import { testWorker } from "./support/test-worker.ts";

type Code = (session: RunSession, ctx: RunContext) => unknown;

/** Nobody runs it: what the tests see of it is whether its end was asked for. */
const work = task({ id: "interrupted-work", run: (name: string) => name });

const caught = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

/** Payloads of the run's children, and whether the end of each was asked for. */
async function endsOf(run: KeptRun): Promise<[unknown, boolean][]> {
  const children = await run.children();
  const statuses = await Promise.all(children.map(({ id }) => run.call("GET", `/v1/runs/${id}`)));
  return children.map(({ payload }, nth) => [payload, statuses[nth].status.startsWith("cancel")]);
}

const startsWork = (run: KeptRun, count = 1): Promise<void> =>
  until("its children have started", 60_000, async () => (await run.children()).length === count);

const waitsForWork = (run: KeptRun, count = 1): Promise<void> =>
  until(
    "it waits for its children",
    60_000,
    async () => run.pending().filter(({ kind }) => kind === "run").length === count,
  );

/** The positions that the run has given up. */
const givenUp = ({ applied }: KeptRun): number[] =>
  applied.flatMap((call) => (call.kind === "waits" ? (call.cancels ?? []) : []));

/** Executes the run until it has ended, wherever it dies at first. @returns what it gave, and whether it died */
async function outlive(
  { run, start }: ReturnType<typeof declareActor>,
  options: ExecutionOptions,
): Promise<[unknown, boolean]> {
  let result = await start(options).ended;
  const hasDied = result === null;
  if (hasDied && options.isMachineLost === true) await outlastLease(run);
  while (result === null || result.outcome === "suspended") result = await start().ended;
  return [outputOf(result), hasDied];
}

describe("a child run that the code waits for when it is interrupted", () => {
  const code: Code = async ({ output }) => {
    const message = await output.message();
    await work.start("started");
    const first = await caught(work.call("called"));
    const status = await message.end();
    return [first instanceof InterruptedError, status];
  };

  test("is cancelled, and one that it only started goes on", async () => {
    const { run, start } = declareActor(code);
    const first = start({ dieAt: "end" });
    await waitsForWork(run);
    await interrupt(run);
    assert.equal(await first.ended, null);
    assert.deepEqual(outputOf(first.result), [true, "interrupted"]);
    const ends = [
      ["started", false],
      ["called", true],
    ];
    assert.deepEqual(await endsOf(run), ends);
    const before = givenUp(run);
    assert.equal(before.length, 2);
    assert.deepEqual(outputOf(await start().ended), [true, "interrupted"]);
    // A replay that goes on behind the interrupt need not ask again.
    assert.deepEqual(givenUp(run), before);
  });

  test("is cancelled wherever the worker is lost", async () => {
    let deaths = 0;
    for (let call = 0; call < 60; call += 1) {
      const declared = declareActor(code, { retry: { maxAttempts: 5 } });
      const stopping = startsWork(declared.run, 2).then(() => interrupt(declared.run));
      const options = { dieAt: { call, applied: call % 2 === 0 }, isMachineLost: call % 3 === 2 };
      const [output, hasDied] = await outlive(declared, options);
      await stopping;
      assert.deepEqual(output, [true, "interrupted"], `died at ${call}`);
      const ends = [
        ["started", false],
        ["called", true],
      ];
      assert.deepEqual(await endsOf(declared.run), ends, `died at ${call}`);
      if (!hasDied) break;
      deaths += 1;
    }
    assert.ok(deaths > 5, String(deaths));
  });

  test("is cancelled although the code ends at once, with its result or with the error", async () => {
    for (const isThrown of [false, true]) {
      const { run, start } = declareActor(
        async ({ output }) => {
          await output.message();
          const error = await caught(work.call("called"));
          if (isThrown) throw error;
          return "over";
        },
        { retry: { maxAttempts: 1 } },
      );
      const first = start();
      await waitsForWork(run);
      await interrupt(run);
      assert.equal((await first.ended)?.outcome, isThrown ? "failed" : "succeeded");
      assert.deepEqual(await endsOf(run), [["called", true]]);
    }
  });

  test("is cancelled in no process, too", async () => {
    const { run, start } = declareActor(code);
    const first = start();
    await until("it is parked", 60_000, async () => first.isParked && first.suspend());
    assert.equal((await first.ended)?.outcome, "suspended");
    await interrupt(run);
    assert.deepEqual(outputOf(await start().ended), [true, "interrupted"]);
    assert.deepEqual(await endsOf(run), [
      ["started", false],
      ["called", true],
    ]);
  });

  test("is one of a batch, and all of them are cancelled", async () => {
    const { run, start } = declareActor(async ({ output }) => {
      const message = await output.message();
      const items = ["a", "b", "c"].map((payload) => ({ payload }));
      const error = await caught(work.batchCall(items));
      await message.end();
      return error instanceof InterruptedError;
    });
    const { ended } = start();
    await waitsForWork(run, 3);
    await interrupt(run);
    assert.equal(outputOf(await ended), true);
    assert.deepEqual(await endsOf(run), [
      ["a", true],
      ["b", true],
      ["c", true],
    ]);
  });

  test("goes on when the code waited for it before it began the message", async () => {
    const { run, start } = declareActor(async ({ output }, { wait }) => {
      const before = work.call("before");
      const message = await output.message();
      const within = await caught(wait.for("1d"));
      await message.end();
      return [within instanceof InterruptedError, await before];
    });
    const { ended } = start();
    await waitsForWork(run);
    await until("it waits", 60_000, async () => run.pending().some(({ kind }) => kind === "timer"));
    await interrupt(run);
    await run.endChild(1, { outcome: "succeeded", output: "whole" });
    assert.deepEqual(outputOf(await ended), [true, "whole"]);
  });

  test("that has ended already is no error", async () => {
    const { run, start } = declareActor(async ({ output }, { wait }) => {
      const message = await output.message();
      const called = work.call("called");
      const within = await caught(wait.for("1d"));
      await message.end();
      return [await called, within instanceof InterruptedError];
    });
    const { ended } = start();
    await waitsForWork(run);
    await run.endChild(1, { outcome: "succeeded", output: "whole" });
    await interrupt(run);
    assert.deepEqual(outputOf(await ended), ["whole", true]);
    assert.deepEqual(givenUp(run), []);
  });
});

test("while an interrupted message is open, a call starts nothing; after its end, the run goes on as before", async () => {
  const { run, start } = declareActor(async ({ output }, { wait }) => {
    const message = await output.message();
    await caught(wait.for("1d"));
    const [one, two] = [
      await caught(work.call("never")),
      await caught(work.batchCall([{ payload: "never" }])),
    ];
    await message.end();
    return [one instanceof InterruptedError, two instanceof InterruptedError, await work.call("later")];
  });
  const first = start({ dieAt: "end" });
  await until("it waits", 60_000, async () => run.pending().some(({ kind }) => kind === "timer"));
  await interrupt(run);
  await waitsForWork(run);
  await run.endChild(1, { outcome: "succeeded", output: "whole" });
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), [true, true, "whole"]);
  assert.deepEqual(outputOf(await start().ended), [true, true, "whole"]);
  assert.deepEqual(await endsOf(run), [["later", false]]);
});

/** An actor whose run works in a workspace of its own. */
async function declareInWorkspace(code: Code) {
  const { server } = await testWorker();
  const { status, body, text } = await server.call("POST", "/api/workspaces", { body: {} });
  assert.equal(status, 201, text);
  return declareActor(code, { retry: { maxAttempts: 5 } }, { workspace_id: body.id });
}

/** What the worker is still to do with a command. */
async function controlsOf(id: string): Promise<string[]> {
  const { db } = (await testWorker()).server;
  const rows = await db.query<{ kind: string }>(
    sql`SELECT kind FROM process_controls WHERE process_id = ${decodeId("exec", id)} ORDER BY sequence`,
  );
  return rows.map(({ kind }) => kind);
}

describe("a command that the code waits for when it is interrupted", () => {
  const code: Code = async ({ output }, { workspace }) => {
    const message = await output.message();
    const made = await caught(workspace.exec(["make"]));
    const never = await caught(workspace.exec(["never"]));
    const status = await message.end();
    return [made instanceof InterruptedError, never instanceof InterruptedError, status];
  };
  const seen = [true, true, "interrupted"];

  test("is asked to end, and the call rejects at once, also in a replay", async () => {
    const { run, start } = await declareInWorkspace(code);
    const first = start({ dieAt: "end" });
    const id = await run.beginExec();
    await interrupt(run);
    assert.equal(await first.ended, null);
    assert.deepEqual(outputOf(first.result), seen);
    assert.deepEqual(await controlsOf(id), ["close"]);
    assert.deepEqual(outputOf(await start().ended), seen);
    const commands = (await run.journal()).filter(({ kind }) => kind === "exec").map(({ name }) => name);
    assert.deepEqual(commands, ["make"]);
  });

  test("is asked to end wherever its run's process dies", async () => {
    let deaths = 0;
    for (let call = 0; call < 60; call += 1) {
      const declared = await declareInWorkspace(code);
      const stopping = declared.run.beginExec().then(async (id) => {
        await interrupt(declared.run);
        return id;
      });
      const options = { dieAt: { call, applied: call % 2 === 0 } };
      const [output, hasDied] = await outlive(declared, options);
      assert.deepEqual(output, seen, `died at ${call}`);
      const controls = await controlsOf(await stopping);
      assert.equal(controls[0], "close", `died at ${call}`);
      if (!hasDied) break;
      deaths += 1;
    }
    assert.ok(deaths > 4, String(deaths));
  });

  test("that has ended before has its outcome", async () => {
    const { run, start } = await declareInWorkspace(async ({ output }, { workspace, wait }) => {
      const message = await output.message();
      const { exitCode } = await workspace.exec(["make"]);
      const within = await caught(wait.for("1d"));
      return [exitCode, within instanceof InterruptedError, await message.end()];
    });
    const first = start({ dieAt: "end" });
    const id = await run.endExec({ outcome: "exited", exit_code: 3 });
    await until("it waits", 60_000, async () => run.pending().some(({ kind }) => kind === "timer"));
    await interrupt(run);
    assert.equal(await first.ended, null);
    for (const result of [first.result, await start().ended])
      assert.deepEqual(outputOf(result), [3, true, "interrupted"]);
    assert.deepEqual(await controlsOf(id), []);
  });
});

// Calls that the server does not take for what they say: the code handles that, and the journal keeps it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RefusedError, step, task, tokens, wait } from "@keelson/sdk";
import { runTask } from "@keelson/sdk/testing";
import { until } from "../../server/test/support/until.ts";
import { declare, failureOf, outputOf } from "./support/declare.ts";

const child = task({ id: "refused-child", run: (name: string) => name });

const codeOf = (error: unknown): string => (error instanceof RefusedError ? error.code : String(error));
const caught = (call: Promise<unknown>): Promise<string> => call.then(String, codeOf);

/** Undoes what it did when a child cannot start. */
const saga = async (): Promise<unknown> => {
  await step("book", () => "booked");
  try {
    return await child.call("a", { priority: 1_000 });
  } catch (error) {
    const undone = await step("undo", () => "undone");
    return [codeOf(error), (error as Error).message, undone];
  }
};
const SAGA = ["invalid_request", "priority: must be <= 100", "undone"];

test("a call that is refused rejects, and the code goes on, the same in each replay", async () => {
  const { run, start } = declare(saga);
  const first = start({ dieAt: "end" });
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), SAGA);
  assert.deepEqual(
    (await run.journal()).map(({ kind, name, error }) => [kind, name, error?.code ?? null]),
    [
      ["step", "book", null],
      ["child_run", "refused-child", "invalid_request"],
      ["step", "undo", null],
    ],
  );
  assert.deepEqual(outputOf(await start().ended), SAGA);
  assert.equal((await run.children()).length, 0);
});

test("the code goes on wherever the process dies", async () => {
  for (let call = 0, hasDied = true; hasDied; call += 1)
    for (const applied of [false, true]) {
      const { start } = declare(saga, { retry: { max_attempts: 5 } });
      const first = await start({ dieAt: { call, applied } }).ended;
      hasDied = first === null;
      assert.deepEqual(outputOf(first ?? (await start().ended)), SAGA, `${call} ${applied}`);
    }
});

test("one of a batch is refused, and the others start", async () => {
  const { run, start } = declare(async () => {
    const results = await child.batchCall([
      { payload: "a" },
      { payload: "b", tags: ["x".repeat(500)] },
      { payload: "c" },
    ]);
    return results.map(({ runId, output, error }) => [runId === null, output, error && codeOf(error)]);
  });
  const first = start();
  await first.parked();
  await run.endChild(1, { outcome: "succeeded", output: "A" });
  await run.endChild(2, { outcome: "succeeded", output: "C" });
  assert.deepEqual(outputOf(await first.ended), [
    [false, "A", null],
    [true, null, "invalid_request"],
    [false, "C", null],
  ]);
});

test("waits that cannot be are refused alone, also among others", async () => {
  const code = async (): Promise<unknown> => {
    const [unknown, far, soon] = await Promise.all([
      caught(tokens.wait("tok_nope")),
      caught(wait.for("40000d")),
      wait.for("1h").then(() => "over"),
    ]);
    await wait.for("1h");
    return [unknown, far, soon];
  };
  const { run, start } = declare(code);
  const first = start({ dieAt: "end" });
  const waitsAgain = (than: number): Promise<void> =>
    until("it waits for the next timer", 60_000, async () =>
      run.pending().some(({ kind, position }) => kind === "timer" && position > than),
    );
  await waitsAgain(0);
  const [timer] = run.pending();
  assert.equal(run.pending().length, 1);
  await run.passWait(timer?.position ?? 0);
  await waitsAgain(timer?.position ?? 0);
  await run.passWait(run.pending()[0]?.position ?? 0);
  const expected = ["not_found", "invalid_request", "over"];
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), expected);
  assert.deepEqual(outputOf(await start().ended), expected);
});

test("a refusal that the code does not handle fails the run, which is not tried again", async () => {
  const { run, ended } = declare(() => child.call("a", { queue: "no such name!" }), {
    retry: { max_attempts: 3 },
  });
  const failure = failureOf(await ended());
  assert.deepEqual([failure.kind, failure.retryable], ["application_error", false]);
  assert.match(failure.message, /queue/);
  assert.deepEqual(await run.journal(), []);
});

test("a refusal that comes when the code has ended fails the run", async () => {
  const { ended } = declare(() => {
    child.start("a", { priority: 1_000 }).catch(() => undefined);
  });
  assert.match(failureOf(await ended()).message, /priority: must be <= 100/);
});

test("a test in process has the same", async () => {
  const waits = task({
    id: "refused-waits",
    run: async () => [await caught(tokens.wait("tok_nope")), await caught(wait.for("40000d"))],
  });
  const { output } = await runTask(waits, undefined).ended;
  assert.deepEqual(output, ["not_found", "invalid_request"]);
});

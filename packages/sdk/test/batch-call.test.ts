import assert from "node:assert/strict";
import { test } from "node:test";
import { ChildRunError, task, WaitTimeoutError } from "@keelson/sdk";
import { z } from "zod";
import { declare, failureOf, outputOf } from "./support/declare.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const measure = task({
  id: "batch-measure",
  payload: z.object({ path: z.string() }),
  run: ({ path }) => ({ files: path.length }),
});

/** For the compiler alone. */
async function check(): Promise<void> {
  const [result] = await measure.batchCall([{ payload: { path: "." }, timeout: "1m", tags: ["a"] }]);
  if (result?.error === null) {
    isTrue<Equal<typeof result.output, { files: number }>>();
    isTrue<Equal<typeof result.runId, string>>();
  }
  // @ts-expect-error the payload is required
  await measure.batchCall([{}]);
  // @ts-expect-error a path is text
  await measure.batchCall([{ payload: { path: 1 } }]);
}

test("a batch starts all children, waits for all of them, and gives each result in its place", async () => {
  void check;
  const { run, start } = declare(async () => {
    const paths = ["a", "bb", "ccc"];
    const results = await measure.batchCall(
      paths.map((path) => ({ payload: { path }, ...(path === "ccc" && { timeout: "1h" as const }) })),
    );
    assert.ok(results[1]?.error instanceof ChildRunError);
    assert.ok(results[2]?.error instanceof WaitTimeoutError);
    return results.map(({ runId, output, error }) => [runId, output, error?.message ?? null]);
  });
  const first = start();
  await first.parked();
  assert.deepEqual(
    (await run.children()).map(({ payload }) => payload),
    [{ path: "a" }, { path: "bb" }, { path: "ccc" }],
  );
  assert.equal(first.suspend(), true);
  await first.ended;
  const failure = { kind: "bundle_error", message: "lost", retryable: false };
  await run.endChild(2, { outcome: "failed", failure });
  await run.endChild(1, { outcome: "succeeded", output: { files: 1 } });
  await run.passWait(6);
  const [one, two, three] = (await run.children()).map(({ id }) => id);
  const expected = [
    [one, { files: 1 }, null],
    [two, null, `The run ${two} of "batch-measure" failed: lost`],
    [three, null, `The run ${three} of "batch-measure" did not end within the timeout`],
  ];
  const second = start({ dieAt: "end" });
  assert.equal(await second.ended, null);
  assert.deepEqual(outputOf(second.result), expected);
  assert.deepEqual(outputOf(await start().ended), expected);
  assert.equal((await run.children()).length, 3);
});

test("hundreds of children are waited for in few calls", async () => {
  const items = Array.from({ length: 300 }, () => ({ payload: { path: "a" } }));
  const { run, start } = declare(() => measure.batchCall(items));
  const execution = start();
  await execution.parked();
  const asked = run.applied.flatMap((call) => (call.kind === "waits" ? [call.waits.length] : []));
  assert.equal(
    asked.reduce((sum, waits) => sum + waits, 0),
    items.length,
  );
  assert.ok(asked.length <= items.length / 10, `${asked.length} calls`);
  execution.abort(new Error("over"));
  await execution.ended;
});

test("nothing of a batch starts when one payload is not JSON", async () => {
  const { run, ended } = declare(async () => {
    await measure.batchCall([{ payload: { path: "a" } }, { payload: { path: 1n as never } }]);
  });
  assert.match(failureOf(await ended()).message, /The payload of "batch-measure" is not JSON: a BigInt/);
  assert.equal((await run.children()).length, 0);
});

test("an empty batch is over at once", async () => {
  const { ended } = declare(() => measure.batchCall([]));
  assert.deepEqual(outputOf(await ended()), []);
});

// A receive that is given up takes no record, and one whose record came first gets it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ReceiveOptions, RunContext, RunSession } from "@keelson/sdk";
import { until } from "../../server/test/support/until.ts";
import { declareActor, outputOf } from "./support/declare.ts";
import type { ExecutionOptions } from "./support/execution.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { testWorker } from "./support/test-worker.ts";

/** Waits for the next input or for an approval, whichever comes first, and then for the next input. */
async function race({ input }: RunSession, { tokens }: RunContext): Promise<unknown> {
  const token = await tokens.create<string>();
  const lost = new AbortController();
  const received = input.receive({ signal: lost.signal }).then(
    (record) => record?.data,
    (error: unknown) => String(error),
  );
  const first = await Promise.race([received, token.wait()]);
  lost.abort(new Error("the approval was faster"));
  return [first, await received, (await input.receive())?.data];
}

const waits = (run: KeptRun): Promise<void> =>
  until("it waits for both", 60_000, async () => run.pending().length === 2);

describe("a race between input and something else", () => {
  for (const dieAt of [undefined, "end", { call: 3, applied: true }, { call: 3, applied: false }] as const)
    test(`that input loses leaves the record to the next receive${dieAt === undefined ? "" : ", also in a replay"}`, async () => {
      const { run, start } = declareActor(race, { retry: { maxAttempts: 3 } }, { session: {} });
      const options: ExecutionOptions = dieAt === undefined ? {} : { dieAt };
      let execution = start(options);
      await waits(run);
      await run.completeToken(await run.effectId("token"), "yes");
      if (typeof dieAt === "object") {
        assert.equal(await execution.ended, null);
        execution = start();
      }
      await until("the first one is given up", 60_000, async () => run.asked.size === 3);
      await run.send("for the next one");
      let result = await execution.ended;
      while (result === null) result = await start().ended;
      assert.deepEqual(outputOf(result), ["yes", "Error: the approval was faster", "for the next one"]);
    });

  test("that input wins gives its record, whatever is aborted then", async () => {
    const { run, start } = declareActor(race, {}, { session: {} });
    const { ended } = start();
    await waits(run);
    await run.send("one");
    await run.send("two");
    assert.deepEqual(outputOf(await ended), ["one", "one", "two"]);
  });

  test("whose record comes at the same moment gives it to one of the two", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { run, start } = declareActor(race, {}, { session: {} });
      const { ended } = start();
      await waits(run);
      const token = await run.effectId("token");
      const said = run.send("one").then(() => run.send("two"));
      await Promise.all([run.completeToken(token, "yes"), said]);
      const [first, received, next] = outputOf(await ended) as string[];
      if (first === "yes" && received !== "one")
        assert.deepEqual([received, next], ["Error: the approval was faster", "one"]);
      else assert.deepEqual([received, next], ["one", "two"]);
    }
  });
});

test("a signal that was aborted before takes nothing", async () => {
  const { run, start } = declareActor(
    async ({ input }) => {
      const first = await input
        .receive({ signal: AbortSignal.abort(new Error("too late")) })
        .catch((error: Error) => error.message);
      return [first, (await input.receive())?.data];
    },
    {},
    { session: {} },
  );
  const { ended } = start();
  await until("the second one waits", 60_000, async () => run.asked.size === 2);
  await run.send("one");
  assert.deepEqual(outputOf(await ended), ["too late", "one"]);
});

describe("of two receives at once, the one that is left gets the record", () => {
  const both = (input: RunSession["input"], options: ReceiveOptions): Promise<unknown[]> =>
    Promise.all([
      input.receive(options).then(
        (record) => record?.data ?? null,
        (error: unknown) => String(error),
      ),
      input.receive().then((record) => record?.data),
    ]);

  test("when the first is given up", async () => {
    const { run, start } = declareActor(
      async ({ input }, { tokens }) => {
        const token = await tokens.create();
        const given = new AbortController();
        const received = both(input, { signal: given.signal });
        await token.wait();
        given.abort(new Error("given up"));
        return [...(await received), (await input.receive())?.data];
      },
      {},
      { session: {} },
    );
    const { ended } = start();
    await until("it waits for both", 60_000, async () => run.pending().length === 3);
    await run.completeToken(await run.effectId("token"), null);
    await until("the first one is given up", 60_000, async () => run.pending().length === 1);
    for (const data of ["one", "two"]) await run.send(data);
    assert.deepEqual(outputOf(await ended), ["Error: given up", "one", "two"]);
  });

  test("when the time of the first is over", async () => {
    const { run, start } = declareActor(
      async ({ input }) => [...(await both(input, { timeout: "1h" })), (await input.receive())?.data],
      {},
      { session: {} },
    );
    const { ended } = start();
    await until("it waits for both", 60_000, async () => run.pending().length === 2);
    await (await testWorker()).pass(2 * 3_600_000);
    await until("the first one is over", 60_000, async () => run.pending().length === 1);
    for (const data of ["one", "two"]) await run.send(data);
    assert.deepEqual(outputOf(await ended), [null, "one", "two"]);
  });
});

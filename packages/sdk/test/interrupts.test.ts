// Messages that somebody stops, as the code sees it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PipedMessage, RunSession } from "@keelson/sdk";
import { InterruptedError } from "@keelson/sdk";
import { until } from "../../server/test/support/until.ts";
import { declareActor, outputOf } from "./support/declare.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { STEP_MS, STEPS_OF_LOSS, testWorker } from "./support/test-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const messagesOf = async (run: KeptRun): Promise<Json[]> =>
  (await run.call("GET", `/v1/sessions/${(await run.started()).session.id}/messages`)).messages;

/** Waits for a message to be written, and stops it. @returns its id. */
async function stop(run: KeptRun): Promise<string> {
  const { session } = await run.started();
  let open: Json;
  await until("a message is being written", 60_000, async () => {
    open = (await messagesOf(run)).find(({ status }) => status === "open");
    return open !== undefined;
  });
  const body = { message_id: open.id };
  assert.deepEqual(await run.call("POST", `/v1/sessions/${session.id}/interrupt`, body), {
    message_id: open.id,
    status: "interrupting",
  });
  await (await testWorker()).renew();
  return open.id;
}

/** Pieces that go on until they are told to stop; `seen` gets what told them. */
async function* endless(signal: AbortSignal, seen: unknown[] = []): AsyncGenerator<string> {
  try {
    yield "a";
    yield "b";
    await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  } catch (error) {
    seen.push(error);
    throw error;
  }
}

/** Pieces of a source that listens to nothing. */
async function* deaf(): AsyncGenerator<string> {
  yield "a";
  await new Promise(() => undefined);
}

describe("a message that is interrupted", () => {
  test("gives its pieces so far, and again when its run is replayed", async () => {
    const reasons: unknown[] = [];
    const told: PipedMessage[] = [];
    const { run, start } = declareActor(async ({ output }) => {
      const pieces = await output.pipe((message) => {
        told.push(message);
        return endless(message.signal, reasons);
      });
      await output("after").append("went on");
      return [pieces, pieces.interrupted];
    });
    const first = start({ dieAt: "end" });
    const id = await stop(run);
    assert.equal(await first.ended, null);
    assert.deepEqual(outputOf(first.result), [["a", "b"], true]);
    assert.deepEqual([told.length, told[0]?.id], [1, id]);
    assert.ok(reasons[0] instanceof InterruptedError, String(reasons[0]));
    assert.deepEqual(
      (await messagesOf(run)).map(({ status, data }) => [status, data]),
      [["interrupted", "ab"]],
    );
    assert.deepEqual(outputOf(await start().ended), [["a", "b"], true]);
    assert.equal(told.length, 1, "a replay asks nobody for pieces");
    assert.equal((await run.records("outputs", "after")).length, 1);
  });

  test("waits for no source that does not listen", async () => {
    const { run, start } = declareActor(async ({ output }) => (await output.pipe(deaf())).interrupted);
    const { ended } = start();
    await stop(run);
    assert.equal(outputOf(await ended), true);
  });

  test("waits for no function that makes its source", async () => {
    const { run, start } = declareActor(async ({ output }) => {
      const [one, two] = await Promise.all([
        output.pipe(["a"]),
        output("slow").pipe(async function* () {
          yield "a";
          await new Promise(() => undefined);
        }),
      ]);
      return [one.interrupted, two.interrupted];
    });
    const { ended } = start();
    await until("the other one has ended", 60_000, async () => {
      const states = (await messagesOf(run)).map(({ status }) => status);
      return states.length === 2 && states.includes("complete");
    });
    await stop(run);
    assert.deepEqual(outputOf(await ended), [false, true]);
  });

  test("inside a step does not fail it, and is no other message of the step", async () => {
    const { run, start } = declareActor(async ({ output }, { step }) =>
      step("answer", async () => {
        const first = await output.pipe(({ signal }) => endless(signal));
        const second = await output.pipe(["Stopped."]);
        return [first.interrupted, second.interrupted];
      }),
    );
    const { ended } = start();
    await stop(run);
    assert.deepEqual(outputOf(await ended), [true, false]);
    assert.deepEqual(
      new Map((await messagesOf(run)).map(({ status, data }) => [status, data])),
      new Map([
        ["complete", "Stopped."],
        ["interrupted", "ab"],
      ]),
    );
  });

  test("leaves the turn to the next input", async () => {
    const { run, start } = declareActor(
      async (session: RunSession) => {
        const heard: unknown[] = [];
        for (let n = 0; n < 2; n += 1) {
          const input = await session.input.receive();
          const pieces = await session.output.pipe(({ signal }) => (n === 0 ? endless(signal) : ["c"]));
          heard.push([input?.data, pieces.length, pieces.interrupted]);
        }
        return heard;
      },
      {},
      { session: {} },
    );
    const { ended } = start();
    await run.send("one");
    await stop(run);
    await run.send("two");
    assert.deepEqual(outputOf(await ended), [
      ["one", 2, true],
      ["two", 1, false],
    ]);
  });
});

test("another try of a step does not write again what was interrupted", async () => {
  let asked = 0;
  const { run, start } = declareActor(async ({ output }, { step }) =>
    step(
      "answer",
      async ({ attempt }) => {
        const pieces = await output.pipe(({ signal }) => {
          asked += 1;
          return endless(signal);
        });
        if (attempt === 1) throw new Error("broke off");
        return [pieces, pieces.interrupted];
      },
      { retry: { initialDelay: "1ms" } },
    ),
  );
  const { ended } = start();
  await stop(run);
  assert.deepEqual(outputOf(await ended), [[], true]);
  assert.equal(asked, 1);
});

describe("what was interrupted, and lost with its worker, is not written again", () => {
  for (const [when, status] of [
    ["before its lease is over", "interrupting"],
    ["when its lease is over", "ended"],
  ] as const)
    test(when, async () => {
      const { run, start } = declareActor(
        async ({ output }, { step }) => {
          const pieces = await output.pipe(({ signal }) => endless(signal));
          const other = await step("other", () => output.pipe(["other"]));
          return [pieces, pieces.interrupted, other];
        },
        { retry: { maxAttempts: 3 } },
      );
      const lost = start({ isMachineLost: true });
      await until("it is being written", 60_000, async () => (await run.records()).length === 2);
      await lost.lose();
      const { session } = await run.started();
      const [{ id: message_id }] = await messagesOf(run);
      const interrupt = async (): Promise<Json> =>
        (await run.call("POST", `/v1/sessions/${session.id}/interrupt`, { message_id })).status;
      if (status === "interrupting") assert.equal(await interrupt(), status);
      const worker = await testWorker();
      for (let step = 0; step < STEPS_OF_LOSS; step += 1) await worker.pass(STEP_MS);
      await until("the lease is over", 60_000, async () => (await run.get()).attempt_number > 1);
      if (status === "ended") assert.equal(await interrupt(), status);
      assert.deepEqual(outputOf(await start().ended), [[], true, ["other"]]);
      assert.deepEqual(
        new Map((await messagesOf(run)).map((one) => [one.status, one.data])),
        new Map([
          ["interrupted", "ab"],
          ["complete", "other"],
        ]),
      );
    });
});

// Messages that go on over steps, waits and attempts of their run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InterruptedError, type RunContext, type RunSession } from "@keelson/sdk";
import { joinMessages, type RecordOf } from "@keelson/sdk/client";
import { until } from "../../server/test/support/until.ts";
import { declareActor, failureOf, outputOf } from "./support/declare.ts";
import type { ExecutionOptions } from "./support/execution.ts";
import { interrupt, messageOf, messagesOf } from "./support/interrupt.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { outlastLease } from "./support/outlast-lease.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** What a reader of the stream makes of it: the text and the status of each message, as last seen. */
async function readerOf(run: KeptRun): Promise<[string | null, string][]> {
  const records = (await run.records()).map(({ content_type, message_id, ...rest }): Json => ({
    ...{ contentType: content_type, messageId: message_id },
    ...rest,
  })) as RecordOf<unknown>[];
  const seen = new Map<string, [string | null, string]>();
  async function* all() {
    yield* records;
  }
  for await (const { id, text, status } of joinMessages(all())) seen.set(id, [text, status]);
  return [...seen.values()];
}

async function* words(text: string): AsyncGenerator<string> {
  for (const word of text.split(/(?<= )/)) {
    await new Promise(setImmediate);
    yield word;
  }
}

/** Pieces that go on until they are told to stop. */
async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  yield "a";
  yield "b";
  await new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

const WHOLE = "I look it up. It is sunny. Shall I book? Booked.";

/** An answer with a tool and an approval. `effects` has the keys under which the tool did something. */
const answer =
  (effects: Set<string>) =>
  async ({ output }: RunSession, { step, tokens }: RunContext): Promise<unknown> => {
    const message = await output.message({ correlationId: "q-1" });
    await step("think", () => message.pipe(words("I look it up. ")));
    const weather = await step("weather", ({ idempotencyKey }) => {
      effects.add(idempotencyKey);
      return "sunny";
    });
    await message.pipe([`It is ${weather}. `]);
    await message.pipe(words("Shall I book? "));
    const token = await tokens.create();
    const approved = await tokens.wait<boolean>(token.id);
    await step("say", () => message.pipe(words(approved ? "Booked." : "Left.")));
    return message.end();
  };

async function approve(run: KeptRun): Promise<void> {
  await until("the approval is asked for", 60_000, async () =>
    (await run.journal()).some(({ kind }) => kind === "token"),
  );
  await run.completeToken(await run.effectId("token"), true);
}

describe("a message that spans", () => {
  test("is open from its beginning to its end, and is one text", async () => {
    const effects = new Set<string>();
    const { run, start } = declareActor(answer(effects));
    const { ended } = start();
    const open = await messageOf(run, ({ status }) => status === "open");
    await approve(run);
    assert.equal(outputOf(await ended), "complete");
    const [{ id, status, data, correlation_id }] = await messagesOf(run);
    assert.deepEqual([id, status, data, correlation_id], [open.id, "complete", WHOLE, "q-1"]);
    const [first, ...rest] = await run.records();
    assert.deepEqual(first?.data, { event: "started", message_id: id });
    assert.ok(rest.every((record) => record.message_id === id && record.correlation_id === "q-1"));
    assert.deepEqual(await readerOf(run), [[WHOLE, "complete"]]);
  });

  test("is whole, and has nothing twice, wherever its worker is lost", async () => {
    let deaths = 0;
    for (let call = 0; call < 60; call += 1) {
      const effects = new Set<string>();
      const { run, start } = declareActor(answer(effects), { retry: { maxAttempts: 5 } });
      const isMachineLost = call % 3 === 2;
      const options: ExecutionOptions = { dieAt: { call, applied: call % 2 === 0 }, isMachineLost };
      const first = start(options);
      void approve(run);
      let result = await first.ended;
      const hasDied = result === null;
      if (hasDied && isMachineLost) await outlastLease(run);
      while (result === null || result.outcome === "suspended") result = await start().ended;
      assert.equal(outputOf(result), "complete", `died at ${call}`);
      const [message, ...others] = await messagesOf(run);
      assert.deepEqual([message.status, message.data, others], ["complete", WHOLE, []], `died at ${call}`);
      assert.deepEqual(await readerOf(run), [[WHOLE, "complete"]], `died at ${call}`);
      assert.equal(effects.size, 1);
      if (!hasDied) break;
      deaths += 1;
    }
    assert.ok(deaths > 12, String(deaths));
  });
});

describe("another try of a step", () => {
  test("writes anew, and what the one before wrote counts no more", async () => {
    const { run, start } = declareActor(async ({ output }, { step }) => {
      const message = await output.message();
      await message.pipe(["Hello. "]);
      await step(
        "flaky",
        async ({ attempt }) => {
          await message.pipe(["half "]);
          await message.pipe(["a sentence "]);
          if (attempt < 3) throw new Error("broke off");
          await message.pipe(["is whole."]);
        },
        { retry: { initialDelay: "1ms" } },
      );
      return message.end();
    });
    assert.equal(outputOf(await start().ended), "complete");
    const whole = "Hello. half a sentence is whole.";
    assert.equal((await messageOf(run)).data, whole);
    assert.deepEqual(await readerOf(run), [[whole, "complete"]]);
    const voided = (await run.records()).filter(({ data }) => (data as Json).event === "voided");
    assert.equal(voided.length, 4);
  });

  test("leaves what a step beside it writes", async () => {
    const { run, start } = declareActor(async ({ output }, { step }) => {
      const message = await output.message();
      const flaky = step(
        "flaky",
        async ({ attempt }) => {
          await message.pipe(["x"]);
          if (attempt === 1) throw new Error("broke off");
        },
        { retry: { initialDelay: "1ms" } },
      );
      await Promise.all([flaky, step("beside", () => message.pipe(["b", "b"]))]);
      return message.end();
    });
    assert.equal(outputOf(await start().ended), "complete");
    const { data } = await messageOf(run);
    assert.equal([...data].toSorted((a, b) => (a < b ? -1 : 1)).join(""), "bbx");
    assert.deepEqual(await readerOf(run), [[data, "complete"]]);
  });

  test("stops one whose time was over and that still writes", async () => {
    const { run, start } = declareActor(async ({ output }, { step }) => {
      const message = await output.message();
      const last = await step(
        "slow",
        async ({ attempt }) => {
          await message.pipe(async function* () {
            yield "from try ";
            if (attempt === 1) await new Promise(() => undefined);
            yield String(attempt);
          });
          return attempt;
        },
        { timeout: "1s", retry: { initialDelay: "1ms", maxAttempts: 20 } },
      );
      await message.end();
      return last;
    });
    const last = outputOf(await start().ended);
    assert.ok(Number(last) > 1);
    assert.deepEqual(await readerOf(run), [[`from try ${String(last)}`, "complete"]]);
  });
});

describe("a message that spans and is interrupted", () => {
  test("in a pipe of a step, tells the code at one place, also in a replay", async () => {
    const { run, start } = declareActor(async ({ output }, { step }) => {
      const message = await output.message();
      const before = message.interrupted;
      const isCut = await step(
        "model",
        async () => (await message.pipe(({ signal }) => endless(signal))).interrupted,
      );
      const after = await message.pipe(["never"]);
      return [before, isCut, message.interrupted, after.length, after.interrupted, await message.end()];
    });
    const seen = [false, true, true, 0, true, "interrupted"];
    const first = start({ dieAt: "end" });
    await until("it is being written", 60_000, async () => (await run.records()).length === 3);
    await interrupt(run);
    assert.equal(await first.ended, null);
    assert.deepEqual(outputOf(first.result), seen);
    assert.deepEqual(outputOf(await start().ended), seen);
    const { status, data } = await messageOf(run);
    assert.deepEqual([status, data], ["interrupted", "ab"]);
    assert.deepEqual(await readerOf(run), [["ab", "interrupted"]]);
  });

  for (const suspended of [false, true])
    test(`while it waits for an approval${suspended ? ", in no process" : ""}, waits no longer`, async () => {
      const { run, start } = declareActor(async ({ output }, { step, tokens, wait }) => {
        const message = await output.message();
        await message.pipe(["May I?"]);
        const token = await tokens.create();
        const first = await tokens.wait(token.id).catch((error: unknown) => error);
        const second = await wait.for("1d").catch((error: unknown) => error);
        const went = await step("after", () => "on");
        const status = await message.end();
        const third = await wait.until("2020-01-01T00:00:00Z").then(() => "waited");
        return [first instanceof InterruptedError, second instanceof InterruptedError, went, status, third];
      });
      const seen = [true, true, "on", "interrupted", "waited"];
      const execution = start({ dieAt: "end" });
      await until("it waits", 60_000, async () => run.pending().some(({ kind }) => kind === "token"));
      let last = execution;
      if (suspended) {
        await until("it is parked", 60_000, async () => execution.isParked && execution.suspend());
        await interrupt(run);
        last = start({ dieAt: "end" });
      } else await interrupt(run);
      assert.equal(await last.ended, null);
      assert.deepEqual(outputOf(last.result), seen);
      // Its outcome, which comes late, changes nothing.
      await run.completeToken(await run.effectId("token"), "late");
      assert.deepEqual(outputOf(await start().ended), seen);
      assert.equal((await messageOf(run)).status, "interrupted");
    });

  test("receives no input for it, and the next receive gets what comes", async () => {
    const { run, start } = declareActor(
      async ({ input, output }) => {
        const message = await output.message();
        const first = await input.receive().catch((error: unknown) => error);
        const status = await message.end();
        return [first instanceof InterruptedError, status, (await input.receive())?.data];
      },
      {},
      { session: {} },
    );
    const seen = [true, "interrupted", "later"];
    const first = start({ dieAt: "end" });
    await until("it waits", 60_000, async () => run.pending().some(({ kind }) => kind === "input"));
    await interrupt(run);
    const receives = () => [...run.asked.values()].filter(({ kind }) => kind === "input");
    await until("the first one is given up", 60_000, async () => receives().length === 2);
    await run.send("later");
    assert.equal(await first.ended, null);
    assert.deepEqual(outputOf(first.result), seen);
    assert.deepEqual(outputOf(await start().ended), seen);
  });
});

test("the end of a message keeps what it is given, and says when it failed", async () => {
  const { run, start } = declareActor(async ({ output }) => {
    const message = await output.message();
    await message.pipe(["text"]);
    return message.end({ data: { parts: ["text"] }, failed: true });
  });
  assert.equal(outputOf(await start().ended), "failed");
  const { status, data } = await messageOf(run);
  assert.deepEqual([status, data], ["failed", { parts: ["text"] }]);
});

test("a run that ends without its message's end leaves it failed, with what was written", async () => {
  const { run, start } = declareActor(
    async ({ output }) => {
      const message = await output.message();
      await message.pipe(["half"]);
      throw new Error("no more");
    },
    { retry: { maxAttempts: 1 } },
  );
  assert.equal(failureOf(await start().ended).message, "no more");
  const { status, data } = await messageOf(run, (message) => message.status !== "open");
  assert.deepEqual([status, data], ["failed", "half"]);
});

test("a message is begun outside of steps, and ends once", async () => {
  const { start } = declareActor(async ({ output }, { step }) => {
    const inside = await step("inside", () => output.message()).catch((error: Error) => error.message);
    const message = await output.message();
    await message.end();
    const twice = await message.end().catch((error: Error) => error.message);
    const after = await message.pipe(["x"]).catch((error: Error) => error.message);
    return [inside, twice, after];
  });
  const [inside, twice, after] = outputOf(await start().ended) as string[];
  assert.match(String(inside), /inside the step "inside"/);
  assert.match(String(twice), /message\.end\(\) was called after message\.end\(\)/);
  assert.match(String(after), /message\.pipe\(\) was called after message\.end\(\)/);
});

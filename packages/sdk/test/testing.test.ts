// Tasks in the process of a test, without a server.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ChildRunError, NonRetryableError, task, TokenExpiredError, UsageError } from "@keelson/sdk";
import { NondeterministicReplayError, runTask } from "@keelson/sdk/testing";

let ids = 0;
const id = (): string => `tested-${(ids += 1)}`;

describe("a task in process", () => {
  test("runs steps, sleeps for days, and says what it did", async () => {
    const sleepy = task({
      id: id(),
      secrets: ["KEY"],
      run: async ({ name }: { name: string }, { step, wait, now, logger, metadata, secrets, usage }) => {
        const began = now();
        metadata.set("phase", "one");
        const text = await step("greet", () => `Hello ${name} ${secrets["KEY"]}`);
        usage.add({ model: "m", inputTokens: 3 });
        await wait.for("30d");
        logger.info("awake", { text });
        metadata.increment("count", 2);
        return { text, slept: now().getTime() - began.getTime() };
      },
    });
    const run = runTask(sleepy, { name: "Ada" }, { secrets: { KEY: "k" }, tags: ["a"] });
    const ended = await run.ended;
    assert.deepEqual(ended, {
      status: "succeeded",
      output: { text: "Hello Ada k", slept: 30 * 24 * 3_600_000 },
      failure: null,
      attemptNumber: 1,
    });
    assert.deepEqual(run.steps, [
      { name: "greet", status: "succeeded", tries: 1, attempt: 1, output: "Hello Ada k", error: null },
    ]);
    assert.deepEqual(run.logs, ['INFO awake {"text":"Hello Ada k"}']);
    assert.deepEqual(run.metadata, { phase: "one", count: 2 });
    assert.equal(run.usage.inputTokens, 3);
  });

  test("tries steps and runs again, without a pause", async () => {
    let tries = 0;
    let attempts = 0;
    const flaky = task({
      id: id(),
      run: async (_: unknown, { step }) => {
        await step("kept", () => "kept");
        attempts += 1;
        return step(
          "flaky",
          () => {
            tries += 1;
            if (tries < 6) throw new Error(`no ${tries}`);
            return tries;
          },
          { retry: { maxAttempts: 4, initialDelay: "1h", maxDelay: "1d" } },
        );
      },
    });
    const run = runTask(flaky, null, { replay: false });
    assert.equal((await run.ended).output, 6);
    assert.equal(attempts, 2);
    assert.deepEqual(
      run.steps.map(({ name, status, tries, attempt }) => [name, status, tries, attempt]),
      [
        ["kept", "succeeded", 1, 1],
        ["flaky", "failed", 4, 1],
        ["flaky", "succeeded", 2, 2],
      ],
    );
    assert.equal(run.steps[1]?.error?.message, "no 4");
  });

  test("waits for a token that the test completes, or lets expire", async () => {
    const asking = task({
      id: id(),
      run: async (_: unknown, { tokens }) => {
        const first = await tokens.create<{ ok: boolean }>({ metadata: { question: "one?" } });
        const { ok } = await first.wait();
        const second = await tokens.create({ timeout: "2h" });
        const late = await second.wait().catch((error: unknown) => error instanceof TokenExpiredError);
        return [ok, late];
      },
    });
    const run = runTask(asking, null);
    const token = await run.token();
    assert.deepEqual(token.metadata, { question: "one?" });
    token.complete({ ok: true });
    assert.throws(() => token.complete(), UsageError);
    await run.token();
    await run.rest();
    assert.equal(run.status, "waiting");
    await run.passTime();
    assert.deepEqual((await run.ended).output, [true, true]);
    await assert.rejects(run.token(), /ended as succeeded/);
  });

  test("runs child tasks in process, or as the test says", async () => {
    const child = task({
      id: id(),
      run: async ({ n }: { n: number }, { wait }) => {
        await wait.for("1h");
        if (n < 0) throw new NonRetryableError("negative");
        return n * 2;
      },
    });
    const parent = task({
      id: id(),
      run: async () => {
        const two = await child.call({ n: 1 });
        const failed = await child.call({ n: -1 }).catch((error: unknown) => error as ChildRunError);
        return [two, (failed as ChildRunError).failure?.message];
      },
    });
    const run = runTask(parent);
    assert.deepEqual((await run.ended).output, [2, "negative"]);
    assert.deepEqual(
      run.children.map(({ task, status }) => [task, status]),
      [
        [child.id, "succeeded"],
        [child.id, "failed"],
      ],
    );
    const stubbed = runTask(parent, undefined, {
      children: {
        [child.id]: ({ n }: { n: number }) => {
          if (n < 0) throw new NonRetryableError("stubbed");
          return 10;
        },
      },
    });
    assert.deepEqual((await stubbed.ended).output, [10, "stubbed"]);
  });

  test("is found out when its code is not deterministic", async () => {
    let calls = 0;
    const random = task({
      id: id(),
      run: async (_: unknown, { step }) => {
        calls += 1;
        return step(`call ${calls}`, () => calls);
      },
    });
    const longer = task({
      id: id(),
      run: async (_: unknown, { step }) => {
        calls += 1;
        await step("one", () => calls);
        if (calls > 2) await step("two", () => calls);
      },
    });
    await assert.rejects(runTask(random).ended, NondeterministicReplayError);
    calls = 1;
    await assert.rejects(runTask(longer).ended, /step "two"/);
    assert.equal(calls, 3);
  });

  test("is cancelled with its children", async () => {
    const child = task({ id: id(), run: async (_: object, { tokens }) => (await tokens.create()).wait() });
    const parent = task({ id: id(), run: async () => child.call({}) });
    const run = runTask(parent);
    await run.token();
    run.cancel();
    assert.deepEqual(await run.ended, {
      status: "cancelled",
      output: null,
      failure: null,
      attemptNumber: 1,
    });
    await run.rest();
    assert.equal(run.children[0]?.status, "cancelled");
  });
});

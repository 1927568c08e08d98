import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { step, wait } from "@keelson/sdk";
import { declare, failureOf, outputOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";
import { until } from "../../server/test/support/until.ts";

test("an aborted run's waits reject with the reason", async () => {
  let reason: unknown;
  const { run, start } = declare(async (ctx) => {
    try {
      await wait.for("1h").catch((error: unknown) => (reason = error));
      await wait.for("1h");
    } finally {
      await ctx.step("cleanup", () => 1).catch(() => undefined);
    }
  });
  const execution = start();
  await execution.parked();
  const error = Object.assign(new Error("max_duration is over"), { name: "TimeoutError" });
  execution.abort(error);
  assert.equal(failureOf(await execution.ended).kind, "timed_out");
  assert.equal(reason, error);
  assert.deepEqual(await run.journal(), []);
});

test("replayed code logs nothing again and changes no metadata again", async () => {
  const { run, start } = declare(async ({ logger, metadata }) => {
    logger.info("begin");
    metadata.increment("begun");
    await wait.for("1h");
    logger.info("go on");
    metadata.increment("gone on");
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(1);
  outputOf(await start().ended);
  assert.deepEqual(run.lines, ["INFO begin\n", "INFO go on\n"]);
  assert.deepEqual((await run.get()).metadata, { begun: 1, "gone on": 1 });
});

test("usage is added once by code that is replayed, and by each try of a step", async () => {
  let tries = 0;
  const { run, start } = declare(async (ctx) => {
    ctx.usage.add({ model: "small", inputTokens: 10, costUsd: 0.5 });
    await wait.for("1h");
    await step(
      "ask",
      () => {
        tries += 1;
        ctx.usage.add({
          model: "large",
          calls: 2,
          outputTokens: 7,
          cachedInputTokens: 1,
          reasoningTokens: 3,
        });
        if (tries === 1) throw new Error("overloaded");
      },
      { retry: { maxAttempts: 2, initialDelay: "1ms" } },
    );
    await wait.for("1h");
    // The last that the code does.
    ctx.usage.add({ model: "small" });
  });
  for (const position of [1, 3]) {
    const execution = start();
    await execution.parked();
    execution.suspend();
    await execution.ended;
    await run.passWait(position);
  }
  outputOf(await start().ended);
  const { id } = await run.get();
  const { models } = await run.call("GET", `/v1/runs/${id}/usage`);
  const none = { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, reasoning_tokens: 0 };
  assert.deepEqual(models, [
    {
      ...{ model: "large", calls: 4, input_tokens: 0, output_tokens: 14, cost_usd: null },
      ...{ cached_input_tokens: 2, reasoning_tokens: 6 },
    },
    { model: "small", calls: 2, ...none, input_tokens: 10, cost_usd: 0.5 },
  ]);
});

test("usage that is none is an error at the call", async () => {
  const { start } = declare(({ usage }) => {
    for (const wrong of [
      { model: "" },
      { model: "m".repeat(201) },
      { model: 1 as never },
      { model: "m", inputTokens: -1 },
      { model: "m", outputTokens: 1.5 },
      { model: "m", reasoningTokens: Number.NaN },
      { model: "m", calls: 0 },
      { model: "m", costUsd: Number.POSITIVE_INFINITY },
    ])
      assert.throws(() => usage.add(wrong), { name: "UsageError" }, JSON.stringify(wrong));
  });
  outputOf(await start().ended);
});

test("code that does other work beside a wait is parked only while it does nothing else that counts", async () => {
  const work = Promise.withResolvers<void>();
  const { run, start } = declare(async () => {
    const timer = wait.for("1h");
    await work.promise;
    await step("beside", () => 1);
    await timer;
  });
  const execution = start();
  await execution.parked();
  assert.equal((await run.journal()).length, 0);
  work.resolve();
  await execution.parked();
  assert.equal((await run.journal()).length, 1);
  await run.passWait(1);
  outputOf(await execution.ended);
});

/** A program with I/O of its own between "one" and "two", whose call "three" is answered first when that takes long. */
function declareWithOwnIo() {
  const order: string[] = [];
  const io = { promise: Promise.resolve() };
  const third = Promise.withResolvers<void>();
  const declared = declare(async () => {
    const see = (name: string) => () => void order.push(name);
    await Promise.all([
      step("one", () => 1)
        .then(() => io.promise)
        .then(() => step("two", () => 2).then(see("two")))
        .then(() => third.resolve()),
      step("three", () => third.promise).then(see("three")),
    ]);
    await wait.for("1h");
  });
  return { ...declared, order, io };
}

/** Turns of the event loop: enough for whatever would be handed out to be handed out. */
async function letTurnsPass(): Promise<void> {
  for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** What the processes of this test have for time goes on by this much. */
const passMinutes = async (minutes: number): Promise<void> => (await testWorker()).pass(minutes * 60_000);

/** Suspends the run when it waits at the end, and lets time pass until it goes on. */
async function leave({ run, start }: ReturnType<typeof declareWithOwnIo>): Promise<void> {
  const first = start();
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(4);
}

test("an outcome of the journal is never overtaken, however long the code's own I/O takes to ask for it", async () => {
  const declared = declareWithOwnIo();
  const { start, order, io } = declared;
  await leave(declared);
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  io.promise = gone;
  const replayed = start({ isTimeVirtual: true });
  await replayed.begun;
  await letTurnsPass();
  await passMinutes(4);
  await letTurnsPass();
  assert.deepEqual(order, ["two", "three"]);
  // It works on its replay, so nothing is suspended and lost.
  assert.equal(replayed.suspend(), false);
  go();
  outputOf(await replayed.ended);
  assert.deepEqual(order, ["two", "three", "two", "three"]);
});

test("code that does not make the next call of its journal within minutes fails with what it did instead", async () => {
  const declared = declareWithOwnIo();
  const { start, io } = declared;
  await leave(declared);
  io.promise = new Promise(() => undefined);
  const replayed = start({ isTimeVirtual: true });
  await replayed.begun;
  await letTurnsPass();
  await passMinutes(4);
  // It is stopped for an hour, which is no time of its own.
  replayed.sleep(3_600_000);
  await letTurnsPass();
  assert.equal(replayed.suspend(), false);
  await passMinutes(1);
  const failure = failureOf(await replayed.ended);
  assert.equal(failure.kind, "nondeterministic_replay");
  assert.match(
    failure.message,
    /did not ask for position 3, where the run's journal has step "two", within 5 minutes; it waits for step "three"/,
  );
});

test("a replay that is held up ends when the run is cancelled", async () => {
  const declared = declareWithOwnIo();
  const { run, start, io } = declared;
  await leave(declared);
  io.promise = new Promise(() => undefined);
  const replayed = start({ isTimeVirtual: true });
  await replayed.begun;
  await letTurnsPass();
  await run.cancel();
  assert.deepEqual(await replayed.ended, { outcome: "cancelled" });
  assert.equal((await run.get()).status, "cancelled");
});

test("calls that own I/O leads to are known by their names when they come in another order", async () => {
  let turns = { a: 1, b: 2 };
  const ran: string[] = [];
  const { run, start } = declare(async () => {
    const work = async (name: "a" | "b") => {
      for (let left = turns[name]; left > 0; left -= 1) await nextTurn();
      return step(name, () => {
        ran.push(name);
        return `of ${name}`;
      });
    };
    const results = await Promise.all([work("a"), work("b")]);
    await wait.for("1h");
    return results;
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(3);
  turns = { a: 2, b: 1 };
  assert.deepEqual(outputOf(await start().ended), ["of a", "of b"]);
  assert.deepEqual(ran, ["a", "b"]);
});

test("I/O of the code's own that won a race wins it again, however long it takes", async () => {
  let io = (): Promise<void> => nextTurn();
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const { run, start } = declare(async () => {
    const winner = await Promise.race([io().then(() => "io"), wait.for("1m").then(() => "timer")]);
    await step(`after ${winner}`, () => {
      begun.resolve();
      return release.promise;
    });
    await wait.for("1h");
    return winner;
  });
  const first = start();
  await begun.promise;
  // The loser is seen first: only that the step was called before it tells who won.
  await run.passWait(1);
  await until("the journal has the wait", 10_000, async () => (await run.journal()).length > 0);
  release.resolve();
  await first.parked();
  assert.deepEqual(
    (await run.journal()).map(({ kind }) => kind),
    ["wait", "step"],
  );
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(3);
  const { promise, resolve: go } = Promise.withResolvers<void>();
  io = () => promise;
  const second = start();
  await second.begun;
  await letTurnsPass();
  go();
  assert.equal(outputOf(await second.ended), "io");
});

test("a journal of an SDK that kept no places is replayed by its positions", async () => {
  const { run, start } = declare(async () => {
    const both = await Promise.all([step("same", () => 1), step("same", () => 2)]);
    await wait.for("1h");
    return both;
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.forgetPlaces();
  await run.passWait(3);
  assert.deepEqual(outputOf(await start().ended), [1, 2]);
});

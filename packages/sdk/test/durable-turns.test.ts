import assert from "node:assert/strict";
import { test } from "node:test";
import { step, wait } from "@keelson/sdk";
import { declare, failureOf, outputOf } from "./support/declare.ts";

test("an aborted run's waits reject with the reason", async () => {
  const abort = new AbortController();
  const { server, start } = declare(async (ctx) => {
    try {
      await wait.for("1h");
    } finally {
      await ctx.step("cleanup", () => 1).catch(() => undefined);
    }
  });
  const execution = start({ signal: abort.signal });
  await execution.parked();
  abort.abort(Object.assign(new Error("max_duration is over"), { name: "TimeoutError" }));
  assert.equal(failureOf(await execution.ended).kind, "timed_out");
  assert.deepEqual(server.journal, []);
});

test("replayed code logs nothing again and changes no metadata again", async () => {
  const { server, start } = declare(async ({ logger, metadata }) => {
    logger.info("begin");
    metadata.increment("begun");
    await wait.for("1h");
    logger.info("go on");
    metadata.increment("gone on");
  });
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(1, "resolved");
  outputOf(await start().ended);
  assert.deepEqual(server.lines, ["INFO begin\n", "INFO go on\n"]);
  assert.equal(server.changes.length, 2);
});

test("code that does other work beside a wait is parked only while it does nothing else that counts", async () => {
  const work = Promise.withResolvers<void>();
  const { server, start } = declare(async () => {
    const timer = wait.for("1h");
    await work.promise;
    await step("beside", () => 1);
    await timer;
  });
  const execution = start();
  await execution.parked();
  assert.equal(server.journal.length, 0);
  work.resolve();
  await execution.parked();
  assert.equal(server.journal.length, 1);
  server.settle(1, "resolved");
  outputOf(await execution.ended);
});

test("an outcome that the code does not ask for holds the others up for a moment only", async () => {
  const order: string[] = [];
  const second = Promise.withResolvers<void>();
  const third = Promise.withResolvers<void>();
  const { server, start } = declare(async () => {
    const see = (name: string) => () => void order.push(name);
    await Promise.all([
      step("one", () => 1)
        .then(() => second.promise)
        .then(() => step("two", () => 2).then(see("two")))
        .then(() => third.resolve()),
      step("three", () => third.promise).then(see("three")),
    ]);
    await wait.for("1h");
  });
  second.resolve();
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(4, "resolved");
  // The code's own work takes longer than what the journal has behind it may wait: until that has gone on.
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  second.promise = gone;
  const ended = start().ended;
  while (order.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  go();
  outputOf(await ended);
  assert.deepEqual(order, ["two", "three", "three", "two"]);
});

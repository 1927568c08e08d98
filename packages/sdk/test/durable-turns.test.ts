import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
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

/** In which the process has its turn. */
function passMinutes(t: TestContext, minutes: number): void {
  for (let second = 0; second < minutes * 60; second += 1) t.mock.timers.tick(1_000);
}

test("an outcome of the journal is never overtaken, however long the code's own I/O takes to ask for it", async (t) => {
  const { server, start, order, io } = declareWithOwnIo();
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(4, "resolved");
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  io.promise = gone;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const replayed = start();
  await letTurnsPass();
  passMinutes(t, 4);
  await letTurnsPass();
  assert.deepEqual(order, ["two", "three"]);
  // It works on its replay, so nothing is suspended and lost.
  assert.equal(replayed.suspend(), false);
  go();
  outputOf(await replayed.ended);
  assert.deepEqual(order, ["two", "three", "two", "three"]);
});

test("code that does not make the next call of its journal within minutes fails with what it did instead", async (t) => {
  const { server, start, io } = declareWithOwnIo();
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(4, "resolved");
  io.promise = new Promise(() => undefined);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const replayed = start();
  await letTurnsPass();
  passMinutes(t, 4);
  // It is stopped for an hour, which is no time of its own.
  t.mock.timers.tick(3_600_000);
  await letTurnsPass();
  assert.equal(replayed.suspend(), false);
  passMinutes(t, 1);
  const failure = failureOf(await replayed.ended);
  assert.equal(failure.kind, "nondeterministic_replay");
  assert.match(
    failure.message,
    /did not ask for position 3, where the run's journal has step "two", within 5 minutes; it waits for step "three"/,
  );
});

test("a replay that is held up ends when the run is cancelled", async (t) => {
  const { server, start, io } = declareWithOwnIo();
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(4, "resolved");
  io.promise = new Promise(() => undefined);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const abort = new AbortController();
  const replayed = start({ signal: abort.signal });
  await letTurnsPass();
  abort.abort(Object.assign(new Error("cancelled"), { name: "AbortError" }));
  assert.deepEqual(await replayed.ended, { outcome: "cancelled" });
});

test("calls that own I/O leads to are known by their names when they come in another order", async () => {
  const io = { a: Promise.resolve(), b: Promise.resolve() };
  const ran: string[] = [];
  const { server, start } = declare(async () => {
    const work = async (name: "a" | "b") => {
      await io[name];
      return step(name, () => {
        ran.push(name);
        return `of ${name}`;
      });
    };
    const results = await Promise.all([work("a"), work("b")]);
    await wait.for("1h");
    return results;
  });
  io.a = new Promise((resolve) => setImmediate(resolve));
  io.b = io.a.then(() => new Promise((resolve) => setImmediate(resolve)));
  const first = start();
  await first.parked();
  first.suspend();
  server.settle(3, "resolved");
  io.b = new Promise((resolve) => setImmediate(resolve));
  io.a = io.b.then(() => new Promise((resolve) => setImmediate(resolve)));
  assert.deepEqual(outputOf(await start().ended), ["of a", "of b"]);
  assert.deepEqual(ran, ["a", "b"]);
});

test("I/O of the code's own that won a race wins it again, however long it takes", async () => {
  const io = { promise: Promise.resolve() };
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const { server, start } = declare(async () => {
    const winner = await Promise.race([io.promise.then(() => "io"), wait.for("1m").then(() => "timer")]);
    await step(`after ${winner}`, () => {
      begun.resolve();
      return release.promise;
    });
    await wait.for("1h");
    return winner;
  });
  io.promise = new Promise((resolve) => setImmediate(resolve));
  const first = start();
  await begun.promise;
  // The loser is seen first: only that the step was called before it tells who won.
  server.settle(1, "resolved");
  await letTurnsPass();
  release.resolve();
  await first.parked();
  assert.deepEqual(
    server.journal.map(({ kind }) => kind),
    ["wait", "step"],
  );
  first.suspend();
  server.settle(3, "resolved");
  const { promise, resolve: go } = Promise.withResolvers<void>();
  io.promise = promise;
  const second = start();
  await letTurnsPass();
  go();
  assert.equal(outputOf(await second.ended), "io");
});

test("a journal of an SDK that kept no places is replayed by its positions", async () => {
  const { server, start } = declare(async () => {
    const both = await Promise.all([step("same", () => 1), step("same", () => 2)]);
    await wait.for("1h");
    return both;
  });
  const first = start();
  await first.parked();
  first.suspend();
  for (const entry of server.journal) delete entry.place;
  for (const wait of server.waits.values()) delete wait.place;
  server.settle(3, "resolved");
  assert.deepEqual(outputOf(await start().ended), [1, 2]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  NonRetryableError,
  now,
  random,
  sessions,
  step,
  StepError,
  task,
  tokens,
  uuid,
  wait,
} from "@keelson/sdk";
import { declare, failureOf, outputOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";
import { letPass } from "../../server/test/support/until.ts";

const callee = task({ id: "durable-callee", run: (n: number) => n });

test("a step runs once, and the run that goes on after a wait has its result", async () => {
  let charged = 0;
  const { run, start } = declare(async () => {
    const { id } = await step("charge", () => ({ id: (charged += 1) }));
    await wait.for("15m");
    return id;
  });
  const first = start();
  await first.parked();
  assert.deepEqual(
    run.applied.map(({ kind }) => kind),
    ["steps", "waits"],
  );
  assert.equal(first.suspend(), true);
  assert.deepEqual(await first.ended, { outcome: "suspended" });
  await run.passWait(2);
  assert.equal(outputOf(await start().ended), 1);
  assert.equal(charged, 1);
  assert.deepEqual(
    (await run.journal()).map(({ kind, name, position }) => [position, kind, name]),
    [
      [1, "step", "charge"],
      [2, "wait", "for"],
    ],
  );
});

test("a wait that settles while the process is there goes on in it", async () => {
  const { run, start } = declare(async () => {
    const token = await tokens.create<{ ok: boolean }>({ timeout: "1h" });
    return (await token.wait()).ok;
  });
  const execution = start();
  await execution.parked();
  await run.completeToken(await run.effectId("token"), { ok: true });
  assert.equal(outputOf(await execution.ended), true);
});

test("times, random values and ids are the same when the run is replayed", async () => {
  const seen: unknown[] = [];
  const { run, start } = declare(async () => {
    const drawn = [now().getTime(), random(), uuid()];
    seen.push(drawn);
    await wait.for("1m");
    return drawn;
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(4);
  assert.deepEqual(outputOf(await start().ended), seen[0]);
  assert.deepEqual(seen[1], seen[0]);
});

test("a failed step is run again by the next attempt, and the steps before it are not", async () => {
  const ran: string[] = [];
  const { run, ended } = declare(async () => {
    await step("first", () => void ran.push("first"));
    await step("second", () => {
      ran.push("second");
      if (ran.length < 3) throw new Error("not yet");
    });
  });
  const failure = failureOf(await ended());
  assert.equal(failure.message, 'Step "second" failed: not yet');
  assert.equal(failure.retryable, true);
  assert.equal((await run.journal()).length, 1);
  outputOf(await ended());
  assert.deepEqual(ran, ["first", "second", "second"]);
});

test("a failure that the code handles is decided for good", async () => {
  let tries = 0;
  const { run, start } = declare(async () => {
    try {
      await step("odd", () => {
        throw new RangeError(`try ${(tries += 1)}`);
      });
    } catch (error) {
      assert.ok(error instanceof StepError);
      await wait.for("1m");
      return [(error.cause as Error).name, error.message];
    }
    return null;
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(2);
  assert.deepEqual(outputOf(await start().ended), ["RangeError", 'Step "odd" failed: try 1']);
  assert.equal(tries, 1);
});

test("code that makes other calls than its journal fails with the position", async () => {
  let name = "one";
  const { run, start, ended } = declare(async () => {
    await step(name, () => 1);
    await wait.for("1m");
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(2);
  name = "other";
  const failure = failureOf(await ended());
  assert.equal(failure.kind, "nondeterministic_replay");
  assert.equal(failure.retryable, false);
  assert.match(failure.message, /at position 1: the journal has step "one", the code asked for step "other"/);
});

test("a step is tried as often as its policy says, each failure is an event, and a thrown advice counts", async () => {
  let tries = 0;
  const { run, ended } = declare(async () => {
    const retry = { maxAttempts: 3, initialDelay: 1, jitter: false };
    const value = await step(
      "unsteady",
      () => {
        tries += 1;
        if (tries < 3) throw new Error(`try ${tries}`);
        return tries;
      },
      { retry },
    );
    await step(
      "hopeless",
      () => {
        tries += 1;
        throw new NonRetryableError("no use");
      },
      { retry },
    );
    return value;
  });
  const failure = failureOf(await ended());
  assert.deepEqual([failure.message, failure.retryable], ['Step "hopeless" failed: no use', false]);
  assert.equal(tries, 4);
  assert.deepEqual(
    run.events.map(({ kind, message }) => [kind, message]),
    [
      ["step.failed", 'Step "unsteady" failed: try 1'],
      ["step.failed", 'Step "unsteady" failed: try 2'],
      ["step.completed", 'Step "unsteady" completed'],
      ["step.failed", 'Step "hopeless" failed: no use'],
    ],
  );
});

test("of steps that run at once the completed ones are kept when another fails the attempt", async () => {
  const ran: string[] = [];
  const { run, ended } = declare(async () => {
    const results = await Promise.allSettled([
      step("bad", () => {
        ran.push("bad");
        if (ran.length < 4) throw new Error("bad");
      }),
      step("good", () => void ran.push("good")),
      step("slow", () => letPass(20, "the others end before this one").then(() => void ran.push("slow"))),
    ]);
    if (results.some(({ status }) => status === "rejected")) throw new Error("one of them failed");
  });
  assert.equal(failureOf(await ended()).message, "one of them failed");
  assert.deepEqual(
    (await run.journal()).map(({ name, error }) => [name, error]),
    [
      ["good", null],
      ["slow", null],
    ],
  );
  outputOf(await ended());
  assert.deepEqual(ran, ["bad", "good", "slow", "bad"]);
});

test("a result is what JSON makes of it, and one that is no JSON or too large fails the step", async () => {
  const { ended } = declare(async () => [
    await step("date", () => new Date(0)),
    await step("nothing", () => undefined),
    await step("big", () => "x".repeat(600_000)).catch((error: Error) => error.message),
    await step("odd", () => ({ n: 1n })).catch((error: Error) => error.message),
  ]);
  const [date, nothing, big, odd] = outputOf(await ended()) as string[];
  assert.deepEqual([date, nothing], ["1970-01-01T00:00:00.000Z", null]);
  assert.match(big ?? "", /The result of step "big" is 600002 bytes of JSON; the limit is 524288/);
  assert.match(odd ?? "", /is not JSON: a BigInt at result\.n/);
});

test("a step begins when everything before it is durable", async () => {
  let journaled: string[] = [];
  const { run, ended } = declare(async () => {
    uuid();
    now();
    await step("first", async () => {
      journaled = (await run.journal()).map(({ name }) => name);
    });
  });
  outputOf(await ended());
  assert.deepEqual(journaled, ["uuid", "now"]);
});

test("durable calls are refused inside a step, and outside of a run", async () => {
  const child = task({ id: "durable-child", run: () => 1 });
  const { ended } = declare((ctx) =>
    step("outer", async () => {
      const calls = [
        () => step("inner", () => 1),
        () => ctx.step("inner", () => 1),
        () => wait.for("1s"),
        () => tokens.create(),
        () => child.start(),
        () => sessions.send("sess_1", 1),
      ];
      const messages = [];
      for (const call of calls)
        messages.push(
          await call().then(String, (error: Error) => /inside the step "outer"/.test(error.message)),
        );
      return { messages, drawn: typeof random() };
    }),
  );
  assert.deepEqual(outputOf(await ended()), { messages: Array(6).fill(true), drawn: "number" });
  await assert.rejects(
    step("x", () => 1),
    /works only inside the code of a run/,
  );
  assert.throws(() => now(), /works only inside the code of a run/);
  await assert.rejects(child.start(), /new Client\(\)\.tasks\.start/);
});

test("the first of several waits to settle wins, again and again", async () => {
  const { run, start } = declare(async () => {
    const token = await tokens.create();
    const first = await Promise.race([token.wait().then(() => "token"), wait.for("1h").then(() => "timer")]);
    await wait.for("2h");
    return first;
  });
  const first = start();
  await first.parked();
  await run.passWait(3);
  await first.parked();
  // The loser settles while the run waits for something else.
  await run.completeToken(await run.effectId("token"), 1);
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(4);
  assert.equal(outputOf(await start().ended), "timer");
});

test("a token that is cancelled, expired or not completed in time rejects its wait", async () => {
  const { run, start } = declare(async () => {
    const made = await Promise.all([tokens.create(), tokens.create({ timeout: "1m" }), tokens.create()]);
    const endings = made.map((token) => token.wait({ timeout: "5m" }).catch((error: Error) => error.name));
    return Promise.all(endings);
  });
  const execution = start();
  await execution.parked();
  await run.call("POST", `/v1/tokens/${await run.effectId("token")}/cancel`);
  await (await testWorker()).pass(60_000);
  await run.passWait(6);
  assert.deepEqual(outputOf(await execution.ended), [
    "TokenCancelledError",
    "TokenExpiredError",
    "WaitTimeoutError",
  ]);
  assert.equal(run.asked.get(4)?.timeout, "5m");
});

test("a child run is started once, and its failure says which run it was", async () => {
  const { run, start } = declare(async () => {
    const started = await callee.start(1, { tags: ["x"] });
    const output = await callee.call(2);
    const failed = await callee
      .call(3, { timeout: "1h" })
      .catch((error: Error) => [error.name, error.message]);
    return { started, output, failed };
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.endChild(2, { outcome: "succeeded", output: 4 });
  const second = start();
  await second.parked();
  const failure = { kind: "application_error", message: "odd", retryable: false };
  await run.endChild(3, { outcome: "failed", failure });
  const [one, , three] = await run.children();
  assert.deepEqual(outputOf(await second.ended), {
    started: { id: one?.id },
    output: 4,
    failed: ["ChildRunError", `The run ${three?.id} of "durable-callee" failed: odd`],
  });
  assert.deepEqual(
    (await run.children()).map(({ payload, tags }) => [payload, tags]),
    [
      [1, ["x"]],
      [2, []],
      [3, []],
    ],
  );
});

test("an ending that each attempt would have fails the run, which is not tried again", async () => {
  const called = declare(() => callee.call(1));
  const calling = called.start();
  await calling.parked();
  await called.run.endChild(1, {
    outcome: "failed",
    failure: { kind: "application_error", message: "odd", retryable: false },
  });
  const failure = failureOf(await calling.ended);
  assert.match(failure.message, /failed: odd$/);
  assert.equal(failure.retryable, false);
  const waited = declare(async () => (await tokens.create()).wait({ timeout: "5m" }));
  const waiting = waited.start();
  await waiting.parked();
  await waited.run.passWait(2);
  assert.equal(failureOf(await waiting.ended).retryable, false);
});

test("what the server does not take fails the run with its reason", async () => {
  const { run, ended } = declare(async () => {
    for (let i = 0; i < 17; i += 1) await step(`${i}`, () => "x".repeat(500_000)).catch(() => undefined);
  });
  const failure = failureOf(await ended());
  assert.partialDeepStrictEqual(failure, { kind: "application_error", retryable: false });
  assert.match(failure.message, /^The outcomes of the run's durable calls would be over 8388608 bytes/);
  assert.equal((await run.journal()).length, 16);
  assert.equal((await run.get()).failure.message, failure.message);
});

test("code that ends before all that its journal has was asked for fails", async () => {
  let steps = 2;
  const { run, start, ended } = declare(async () => {
    for (let i = 0; i < steps; i += 1) await step(`${i}`, () => i);
    if (steps === 2) await wait.for("1h");
  });
  const first = start();
  await first.parked();
  first.suspend();
  await first.ended;
  await run.passWait(3);
  steps = 1;
  const failure = failureOf(await ended());
  assert.equal(failure.kind, "nondeterministic_replay");
  assert.match(failure.message, /ended before position 2, where the run's journal has step "1"/);
});

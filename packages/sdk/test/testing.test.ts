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

  test("continues with an empty journal, and is replayed on each", async () => {
    const replayed: number[] = [];
    const loop = task({
      id: id(),
      run: async ({ n }: { n: number }, { step, continueAs, wait }) => {
        replayed.push(n);
        await step("count", () => n);
        await wait.for("1d");
        return n < 2 ? continueAs({ n: n + 1 }) : n;
      },
    });
    const run = runTask(loop, { n: 0 });
    const { output, attemptNumber } = (await run.ended) as { output: unknown; attemptNumber: number };
    assert.deepEqual([output, attemptNumber, run.continuations, run.payload], [2, 3, 2, { n: 0 }]);
    assert.deepEqual(replayed, [0, 1, 2, 0, 1, 2]);
    assert.equal(run.calls.length, 2);
  });

  test("does not pass when the replay of an earlier journal goes another way", async () => {
    let runs = 0;
    const odd = task({
      id: id(),
      run: async ({ n }: { n: number }, { step, continueAs }) => {
        runs += 1;
        await step(n === 0 ? `step ${runs}` : "last", () => n);
        return n === 0 ? continueAs({ n: 1 }) : n;
      },
    });
    await assert.rejects(runTask(odd, { n: 0 }).ended, NondeterministicReplayError);
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

  test("is given the secrets that it declares, and no others", async () => {
    const open = task({ id: id(), secrets: ["A"], run: (_: object, { secrets }) => secrets });
    const { output } = await runTask(open, {}, { secrets: { A: "1", B: "2" } }).ended;
    assert.deepEqual(output, { A: "1" });
    assert.throws(() => runTask(open, {}), /declares the secret A: pass its value in `secrets`/);
  });

  test("fails for what only a server has, and says what to do", async () => {
    const boxed = task({ id: id(), sandbox: "box", run: () => 1 });
    assert.throws(() => runTask(boxed), UsageError);
    const working = task({ id: id(), run: (_: object, { workspace }) => workspace });
    assert.match((await runTask(working, {}).ended).failure?.message ?? "", /no workspace/);
    const calling = task({ id: id(), run: () => boxed.call() });
    assert.match(
      (await runTask(calling).ended).failure?.message ?? "",
      /pass a function for it in `children`/,
    );
  });

  test("tells what it sends to sessions", async () => {
    const sending = task({
      id: id(),
      run: (_: object, { sessions }) => sessions.send({ externalId: "order-1" }, { paid: true }),
    });
    const run = runTask(sending, {});
    await run.ended;
    const sent = { session: "order-1", stream: "input", data: { paid: true }, correlationId: null };
    assert.deepEqual(run.sent, [sent]);
  });

  test("lets time pass in its order, whatever is skipped", async () => {
    const racing = task({
      id: id(),
      run: async (_: object, { step, wait, now }) => {
        const began = now().getTime();
        const seen: [string, number][] = [];
        const see = (what: string) => () => void seen.push([what, (now().getTime() - began) / 60_000]);
        const tried = step(
          "tried",
          ({ attempt }) => {
            if (attempt === 1) throw new Error("again");
          },
          { retry: { maxAttempts: 2, initialDelay: "10m", maxDelay: "10m", jitter: false } },
        );
        await Promise.all([
          wait.for("30m").then(see("late")),
          tried.then(see("tried")),
          wait.for("5m").then(see("soon")),
        ]);
        return seen;
      },
    });
    assert.deepEqual((await runTask(racing, {}).ended).output, [
      ["soon", 5],
      ["tried", 10],
      ["late", 30],
    ]);
  });

  test("lets no time pass while the test may complete a token", async () => {
    const reminding = task({
      id: id(),
      run: async (_: object, { tokens, wait }) => {
        const token = await tokens.create<string>();
        return Promise.race([token.wait(), wait.for("12h").then(() => "reminded")]);
      },
    });
    const answered = runTask(reminding, {}, { now: new Date("2030-01-01T00:00:00Z") });
    const token = await answered.token();
    assert.equal(token.timeoutAt.toISOString(), "2030-01-02T00:00:00.000Z");
    await answered.rest();
    token.complete("answered");
    const { output } = await answered.ended;
    assert.equal(output satisfies string | null, "answered");
    const late = runTask(reminding, {});
    await late.passTime("1h");
    assert.equal(late.status, "waiting");
    await late.passTime("11h");
    assert.equal((await late.ended).output, "reminded");
    await assert.rejects(runTask(task({ id: id(), run: () => 1 })).passTime(), /needs a duration/);
  });

  test("is replayed with the losers of a race, and with a step that it left", async () => {
    let began = 0;
    const leaving = task({
      id: id(),
      run: async (_: object, { step, wait }) => {
        const winner = await Promise.race([
          wait.for("2h").then(() => "late"),
          wait.for("1h").then(() => "soon"),
        ]);
        void step("left", () => {
          began += 1;
          return new Promise(() => undefined);
        });
        return winner;
      },
    });
    assert.equal((await runTask(leaving, {}).ended).output, "soon");
    assert.ok(began <= 1, "a replay does no step");
  });
});

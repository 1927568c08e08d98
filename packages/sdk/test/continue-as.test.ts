// Code that continues its run with an empty journal, on a real server.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor, step, task, wait, type ActorContext, type RunSession, type TaskContext } from "@keelson/sdk";
import { until } from "../../server/test/support/until.ts";
import { failureOf, outputOf, runOf } from "./support/declare.ts";
import type { Execution } from "./support/execution.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { testWorker } from "./support/test-worker.ts";

let ids = 0;
const DELAY_MS = 1_000;

/** Each a task of its own, whose payload is a number. */
const declareTask = (
  run: (n: number, ctx: TaskContext<number>) => unknown,
  onFailure?: (ctx: unknown) => unknown,
) =>
  runOf(
    {
      kind: "task",
      id: task({
        id: `continued-${(ids += 1)}`,
        run,
        ...(onFailure && { onFailure: (_failure: unknown, ctx: unknown) => onFailure(ctx) }),
      }).id,
    },
    { payload: 0 },
  );

const declareTurn = (run: (session: RunSession, ctx: ActorContext) => unknown) =>
  runOf({ kind: "actor", id: actor({ id: `continued-${(ids += 1)}`, run }).id });

/** What it goes on with. */
async function continued(execution: Execution): Promise<unknown> {
  const result = await execution.ended;
  assert.equal(result?.outcome, "continued", JSON.stringify(result));
  await (await testWorker()).pass(DELAY_MS);
  return result.payload === null ? null : JSON.parse(result.payload);
}

const names = async (run: KeptRun): Promise<string[]> => (await run.journal()).map(({ name }) => name);

describe("a task that continues", () => {
  test("goes on with the new payload, and runs its steps again", async () => {
    const keys = new Set<string>();
    const seen: unknown[] = [];
    const { run, start } = declareTask(async (n, ctx) => {
      await ctx.step("work", ({ idempotencyKey }) => void keys.add(idempotencyKey));
      await Promise.resolve().then(() =>
        ctx.step("own", ({ idempotencyKey }) => void keys.add(idempotencyKey)),
      );
      seen.push([ctx.run.id, ctx.run.continuations, ctx.attempt.number, n]);
      return n < 2 ? ctx.continueAs(n + 1) : n;
    });
    assert.equal(await continued(start()), 1);
    assert.deepEqual(await names(run), []);
    assert.equal(await continued(start()), 2);
    assert.equal(outputOf(await start().ended), 2);
    const { id } = await run.started();
    assert.deepEqual(seen, [
      [id, 0, 1, 0],
      [id, 1, 1, 1],
      [id, 2, 1, 2],
    ]);
    // No step of one journal has the key of a step of another one.
    assert.equal(keys.size, 6);
    const { payload, continuations, continued_payload: last, attempt_number: attempt } = await run.get();
    assert.deepEqual([payload, continuations, last, attempt], [0, 2, 2, 3]);
  });

  test("continues once, when its process dies before it has said so", async () => {
    let steps = 0;
    const { start } = declareTask(async (n, ctx) => {
      await ctx.step("count", () => (steps += 1));
      await ctx.wait.for("1ms");
      return n === 0 ? ctx.continueAs(1) : [n, steps];
    });
    const first = start({ dieAt: "end" });
    await first.parked();
    await (await testWorker()).pass(10);
    assert.equal(await first.ended, null);
    // The next execution replays the journal and comes to the same place.
    assert.equal(await continued(start()), 1);
    const last = start();
    await last.parked();
    await (await testWorker()).pass(10);
    assert.deepEqual(outputOf(await last.ended), [1, 2]);
  });

  test("leaves its waits behind", async () => {
    const { run, start } = declareTask(async (n, ctx) => {
      if (n === 1) return wait.for("1ms").then(() => "over");
      const long = ctx.wait.for("1d");
      await Promise.race([long, ctx.wait.for("1ms")]);
      return ctx.continueAs(1);
    });
    const first = start();
    await first.parked();
    await (await testWorker()).pass(10);
    assert.equal(await continued(first), 1);
    const second = start();
    await second.parked();
    await run.passWait(1);
    assert.equal(outputOf(await second.ended), "over");
  });

  test("has a typed payload", () => {
    const typed = task({
      id: `continued-${(ids += 1)}`,
      run: async ({ n }: { n: number }, ctx) => {
        if (n < 0) ctx.continueAs({ n: 1 });
        // @ts-expect-error The payload is not one of this task.
        if (n < -1) ctx.continueAs({ m: 1 });
        // @ts-expect-error The payload is missing.
        if (n < -2) ctx.continueAs();
        return n;
      },
    });
    assert.equal(typed.kind, "task");
  });
});

describe("code that catches what ctx.continueAs() throws", () => {
  test("and returns continues nevertheless, and its log says so", async () => {
    const { run, start } = declareTask((n, ctx) => {
      if (n === 1) return "second";
      try {
        ctx.continueAs(1);
      } catch {
        return "caught";
      }
    });
    assert.equal(await continued(start()), 1);
    assert.match(run.lines.join(""), /^WARN The code caught what ctx\.continueAs\(\) throws\./m);
    assert.equal(outputOf(await start().ended), "second");
  });

  test("and throws another error continues nevertheless", async () => {
    const { start } = declareTask((n, ctx) => {
      if (n === 1) return "second";
      try {
        return ctx.continueAs(1);
      } catch (cause) {
        throw new Error("wrapped", { cause });
      }
    });
    assert.equal(await continued(start()), 1);
    assert.equal(outputOf(await start().ended), "second");
  });

  test("and goes on makes no durable call any more: the first payload counts", async () => {
    const ran: string[] = [];
    const { start } = declareTask(async (n, ctx) => {
      if (n !== 0) return n;
      for (let times = 1; ; times += 1) {
        try {
          await ctx.step("again", () => void ran.push(`step ${times}`));
          ctx.continueAs(times);
        } catch {
          ran.push("caught");
        }
      }
    });
    const execution = start();
    assert.equal(await continued(execution), 1);
    assert.equal((execution.result as { codeLeft?: boolean }).codeLeft, true);
    assert.deepEqual(ran, ["step 1", "caught"]);
    assert.equal(outputOf(await start().ended), 1);
  });
});

describe("ctx.continueAs() is refused", () => {
  test("inside a step", async () => {
    const { start } = declareTask((_n, ctx) => step("inside", () => ctx.continueAs(1)));
    assert.match(failureOf(await start().ended).message, /was called inside the step "inside"/);
  });

  test("with what is not JSON", async () => {
    const { start } = declareTask((_n, ctx) => ctx.continueAs(Number.NaN));
    assert.match(failureOf(await start().ended).message, /^The payload of ctx\.continueAs\(\) is not JSON/);
  });

  test("in onFailure, whose run has failed", async () => {
    const errors: string[] = [];
    const { run, start } = declareTask(
      () => {
        throw new Error("the first error");
      },
      (ctx) => {
        try {
          (ctx as TaskContext).continueAs(1);
        } catch (error) {
          errors.push((error as Error).message);
        }
      },
    );
    for (let attempt = 1; attempt <= 3; attempt += 1) await start().ended;
    assert.deepEqual(errors, ["ctx.continueAs() was called in onFailure: the run has failed by then."]);
    assert.equal((await run.get()).status, "failed");
  });

  test("by an agent or a server that does not know it", async () => {
    const { start } = declareTask((_n, ctx) => ctx.continueAs(1));
    const { message } = failureOf(await start({ mayContinue: false }).ended);
    assert.equal(
      message,
      "ctx.continueAs() is not known here: upgrade the server, and then the agent of this worker.",
    );
  });

  test("while a message is open", async () => {
    const { run, start } = declareTurn(async (session, ctx) => {
      const message = await session.output.message();
      try {
        ctx.continueAs();
      } catch (error) {
        await message.end();
        return (error as Error).message;
      }
    });
    assert.match(outputOf(await start().ended) as string, /await `message\.end\(\)` before it/);
    assert.equal((await run.get()).continuations, 0);
  });
});

describe("a turn that continues", () => {
  test("has its session, with what it received and what it keeps in the state", async () => {
    const { run, start } = declareTurn(async (session, ctx) => {
      const kept = ((await session.state.get()).state ?? []) as unknown[];
      const record = await session.input.receive();
      await session.state.set([...kept, record?.data]);
      if (ctx.run.continuations < 2) return ctx.continueAs();
      return (await session.state.get()).state;
    });
    const first = start();
    await run.send("one");
    await run.send("two");
    await run.send("three");
    assert.equal(await continued(first), null);
    assert.equal(await continued(start()), null);
    assert.deepEqual(outputOf(await start().ended), ["one", "two", "three"]);
    const { session } = await run.started();
    let runs = [];
    await until("the session knows of the end of its turn", 60_000, async () => {
      ({ runs } = await run.call("GET", `/api/sessions/${session.id}/runs`));
      return runs[0].status === "succeeded";
    });
    assert.equal(runs.length, 1);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { StepError, StepTimeoutError, type StepContext } from "@keelson/sdk";
import { declare, outputOf } from "./support/declare.ts";
import { letPass } from "../../server/test/support/until.ts";

test("a step knows its try, and has one idempotency key in all of them", async () => {
  const tries: Pick<StepContext, "attempt" | "idempotencyKey">[] = [];
  const { ended } = declare((ctx) =>
    ctx.step(
      "charge",
      ({ attempt, idempotencyKey }) => {
        tries.push({ attempt, idempotencyKey });
        if (attempt < 3) throw new Error("not yet");
      },
      { retry: { maxAttempts: 3, initialDelay: 1 } },
    ),
  );
  outputOf(await ended());
  assert.deepEqual(
    tries.map(({ attempt }) => attempt),
    [1, 2, 3],
  );
  assert.equal(new Set(tries.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
});

test("a step that a crash interrupts has the same key again, and each other step and run another", async () => {
  const keys: string[][] = [];
  const { start } = declare(async (ctx) => {
    const mine: string[] = [];
    keys.push(mine);
    const charge = (name: string): Promise<unknown> =>
      ctx.step(name, ({ idempotencyKey }) => void mine.push(idempotencyKey));
    await charge("alone");
    await Promise.all([charge("both"), charge("both")]);
    // I/O of the code's own leads to these two, in another order each time.
    const first = keys.length % 2 === 0 ? "left" : "right";
    const own = async (name: string): Promise<void> => {
      await letPass(name === first ? 1 : 20, "one comes after the other");
      await charge(name);
    };
    await Promise.all([own("left"), own("right")]);
  });
  assert.equal(await start({ dieAt: { call: 2, applied: false } }).ended, null);
  outputOf(await start().ended);
  const [interrupted = [], replayed = []] = keys;
  assert.equal(interrupted.length >= 3, true);
  // "alone" is in the journal; the others of the first execution were repeated with the keys that they had.
  for (const key of interrupted.slice(3)) assert.equal(replayed.includes(key), true, key);
  assert.equal(new Set([...interrupted, ...replayed]).size, 5);

  const { run, ended } = declare((ctx) => ctx.step("alone", ({ idempotencyKey }) => idempotencyKey));
  const other = outputOf(await ended());
  assert.ok(String(other).startsWith(`${(await run.started()).id}-`));
  assert.equal(keys.flat().includes(String(other)), false);
});

test("a try that takes longer than the timeout fails, its signal is aborted, and the next one follows", async () => {
  const reasons: unknown[] = [];
  const { run, ended } = declare((ctx) =>
    ctx.step(
      "slow",
      async ({ attempt, signal }) => {
        if (attempt === 2) return "in time";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        reasons.push(signal.reason);
        return "too late";
      },
      { timeout: "5ms", retry: { maxAttempts: 2, initialDelay: 1 } },
    ),
  );
  assert.equal(outputOf(await ended()), "in time");
  assert.ok(reasons[0] instanceof StepTimeoutError);
  assert.deepEqual(
    run.events.map(({ kind }) => kind),
    ["step.failed", "step.completed"],
  );
});

test("a step that never returns is over after its timeout, and the run goes on", async () => {
  const { ended } = declare(async (ctx) => {
    const failed: unknown = await ctx
      .step("stuck", () => new Promise<never>(() => undefined), { timeout: 1 })
      .catch((error: unknown) => error);
    assert.ok(failed instanceof StepError);
    assert.equal((failed.cause as Error).name, "StepTimeoutError");
    await ctx.step("after", () => undefined);
    return failed.message;
  });
  assert.equal(
    outputOf(await ended()),
    'Step "stuck" failed: Step "stuck" took longer than its timeout of 1ms',
  );
});

test("a step's signal is aborted with the run", async () => {
  let isAborted = false;
  const { run, ended } = declare((ctx) =>
    ctx.step(
      "work",
      async ({ signal }) => {
        const aborted = new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => {
            isAborted = true;
            resolve();
          });
        });
        await run.cancel();
        await aborted;
      },
      { timeout: "1h" },
    ),
  );
  assert.deepEqual(await ended(), { outcome: "cancelled" });
  assert.equal(isAborted, true);
});

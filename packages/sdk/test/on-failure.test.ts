import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, NonRetryableError, task, wait, type RunContext, type TaskFailure } from "@keelson/sdk";
import { z } from "zod";
import { failureOf, runOf } from "./support/declare.ts";

type Told = { payload: unknown; message: string };

const describe = ({ payload, error }: TaskFailure): Told => ({ payload, message: (error as Error).message });

let nextId = 0;
function declareFailing(
  onFailure: (failure: TaskFailure<{ n: number }>, ctx: RunContext) => unknown,
  { error = (): unknown => new Error("no luck"), maxAttempts = 1 } = {},
) {
  const { id } = task({
    id: `on-failure-${(nextId += 1)}`,
    payload: z.object({ n: z.coerce.number<string>() }),
    retry: { maxAttempts },
    run: async (_payload, ctx) => {
      await ctx.step("work", () => undefined);
      throw error();
    },
    onFailure,
  });
  return runOf({ kind: "task", id }, { payload: { n: "7" } });
}

test("onFailure is called when the last attempt has failed, and no sooner", async () => {
  const told: Told[] = [];
  const { run, ended } = declareFailing((failure) => void told.push(describe(failure)), { maxAttempts: 3 });
  for (const _attempt of [1, 2]) {
    assert.equal(failureOf(await ended()).retryable, true);
    assert.deepEqual([told, (await run.get()).status], [[], "retry_delayed"]);
  }
  assert.equal(failureOf(await ended()).message, "no luck");
  assert.deepEqual(told, [{ payload: { n: 7 }, message: "no luck" }]);
  const { status, attempt_number: attempts } = await run.get();
  assert.deepEqual([status, attempts], ["failed", 3]);
});

test("onFailure is called for an error that is not retried", async () => {
  const told: Told[] = [];
  const { run, ended } = declareFailing((failure) => void told.push(describe(failure)), {
    error: () => new NonRetryableError("hopeless"),
    maxAttempts: 3,
  });
  assert.equal(failureOf(await ended()).retryable, false);
  assert.deepEqual(told, [{ payload: { n: 7 }, message: "hopeless" }]);
  assert.equal((await run.get()).status, "failed");
});

test("onFailure is durable: its steps run once, over waits", async () => {
  const done: string[] = [];
  const { run, start, ended } = declareFailing(async (_failure, ctx) => {
    await ctx.step("refund", () => void done.push("refund"));
    await wait.for("1h");
    await ctx.step("tell", () => void done.push("tell"));
  });
  const first = start();
  await first.parked();
  assert.equal(first.suspend(), true);
  assert.deepEqual(await first.ended, { outcome: "suspended" });
  await run.passWait(3);
  assert.equal(failureOf(await ended()).message, "no luck");
  assert.deepEqual(done, ["refund", "tell"]);
  assert.deepEqual(
    (await run.journal()).map(({ name }) => name),
    ["work", "refund", "for", "tell"],
  );
});

test("what onFailure throws is logged, and the run fails as it did", async () => {
  const { run, ended } = declareFailing(() => {
    throw new Error("the mail server is down");
  });
  assert.equal(failureOf(await ended()).message, "no luck");
  assert.match(run.lines.join(""), /ERROR onFailure failed .*the mail server is down/);
  assert.equal((await run.get()).failure.message, "no luck");
});

test("onFailure is not called for a run that is cancelled or has a wrong payload", async () => {
  let calls = 0;
  const begun = Promise.withResolvers<void>();
  const { id } = task({
    id: "on-failure-cancelled",
    // What a JSON schema cannot say, the server lets through.
    payload: z.object({ n: z.number().refine((n) => n > 0) }),
    retry: { maxAttempts: 1 },
    run: async (_payload, { signal }) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    },
    onFailure: () => (calls += 1),
  });
  const { run, start } = runOf({ kind: "task", id }, { payload: { n: 1 } });
  const cancelled = start();
  await begun.promise;
  await run.cancel();
  assert.deepEqual(await cancelled.ended, { outcome: "cancelled" });
  assert.equal((await run.get()).status, "cancelled");
  const wrong = runOf({ kind: "task", id }, { payload: { n: -1 } });
  assert.equal(failureOf(await wrong.ended()).kind, "payload_invalid");
  assert.equal((await wrong.run.get()).failure.kind, "payload_invalid");
  assert.equal(calls, 0);
});

test("an actor's onFailure has the session of the turn", async () => {
  const { id } = actor({
    id: "on-failure-actor",
    run: () => {
      throw new NonRetryableError("hopeless");
    },
    onFailure: ({ session, error }) => session.output.append((error as Error).message),
  });
  const { run, ended } = runOf({ kind: "actor", id });
  assert.equal(failureOf(await ended()).message, "hopeless");
  assert.deepEqual(
    (await run.records()).map(({ data }) => data),
    ["hopeless"],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, NonRetryableError, task, wait, type RunContext, type TaskFailure } from "@keelson/sdk";
import { z } from "zod";
import { DurableServer } from "./support/durable-server.ts";
import { Execution } from "./support/execution.ts";
import { failureOf, SESSION } from "./support/declare.ts";

type Told = { payload: unknown; message: string };

const describe = ({ payload, error }: TaskFailure): Told => ({ payload, message: (error as Error).message });

let nextId = 0;
function declareFailing(
  onFailure: (failure: TaskFailure<{ n: number }>, ctx: RunContext) => unknown,
  error: () => unknown = () => new Error("no luck"),
) {
  const { id } = task({
    id: `on-failure-${(nextId += 1)}`,
    payload: z.object({ n: z.coerce.number<string>() }),
    run: async (_payload, ctx) => {
      await ctx.step("work", () => undefined);
      throw error();
    },
    onFailure,
  });
  const server = new DurableServer();
  return { server, start: () => new Execution(server, id, { payload: { n: "7" } }) };
}

test("onFailure is called when the last attempt has failed, and no sooner", async () => {
  const told: Told[] = [];
  const { server, start } = declareFailing((failure) => void told.push(describe(failure)));
  assert.equal(failureOf(await start().ended).retryable, true);
  assert.deepEqual(told, []);
  server.attempt = 3;
  assert.equal(failureOf(await start().ended).message, "no luck");
  assert.deepEqual(told, [{ payload: { n: 7 }, message: "no luck" }]);
});

test("onFailure is called for an error that is not retried", async () => {
  const told: Told[] = [];
  const { start } = declareFailing(
    (failure) => void told.push(describe(failure)),
    () => new NonRetryableError("hopeless"),
  );
  assert.equal(failureOf(await start().ended).retryable, false);
  assert.deepEqual(told, [{ payload: { n: 7 }, message: "hopeless" }]);
});

test("onFailure is durable: its steps run once, over waits", async () => {
  const done: string[] = [];
  const { server, start } = declareFailing(async (_failure, ctx) => {
    await ctx.step("refund", () => void done.push("refund"));
    await wait.for("1h");
    await ctx.step("tell", () => void done.push("tell"));
  });
  server.attempt = 3;
  const first = start();
  await first.parked();
  assert.equal(first.suspend(), true);
  assert.deepEqual(await first.ended, { outcome: "suspended" });
  server.settle(3, "resolved");
  assert.equal(failureOf(await start().ended).message, "no luck");
  assert.deepEqual(done, ["refund", "tell"]);
  assert.deepEqual(
    server.journal.map(({ name }) => name),
    ["work", "refund", "for", "tell"],
  );
});

test("what onFailure throws is logged, and the run fails as it did", async () => {
  const { server, start } = declareFailing(() => {
    throw new Error("the mail server is down");
  });
  server.attempt = 3;
  assert.equal(failureOf(await start().ended).message, "no luck");
  assert.match(server.lines.join(""), /ERROR onFailure failed .*the mail server is down/);
});

test("onFailure is not called for a run that is cancelled or has a wrong payload", async () => {
  let calls = 0;
  const { id } = task({
    id: "on-failure-cancelled",
    payload: z.object({ n: z.number() }),
    run: () => {
      throw new Error("stopped");
    },
    onFailure: () => (calls += 1),
  });
  const stop = new AbortController();
  stop.abort(new Error("cancelled"));
  const server = new DurableServer();
  server.attempt = 3;
  const cancelled = new Execution(server, id, { payload: { n: 1 }, signal: stop.signal });
  assert.deepEqual(await cancelled.ended, { outcome: "cancelled" });
  assert.equal(failureOf(await new Execution(server, id, { payload: {} }).ended).kind, "payload_invalid");
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
  const server = new DurableServer();
  const execution = new Execution(server, id, { kind: "actor", session: SESSION });
  assert.equal(failureOf(await execution.ended).message, "hopeless");
  assert.deepEqual(
    server.outputs.map(({ data }) => data),
    ["hopeless"],
  );
});

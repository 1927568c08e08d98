import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, InputInvalidError, RefusedError, sessions, UsageError } from "@keelson/sdk";
import { keelson } from "@keelson/sdk/runtime";
import { z } from "zod";
import { declare, declareActor, failureOf, outputOf } from "./support/declare.ts";

test("an actor receives each record once, in order, until its session takes no more input", async () => {
  const { server, start } = declareActor(async (session, ctx) => {
    assert.equal(session, ctx.session);
    const received: unknown[] = [];
    for await (const { data, sequence } of session.input) received.push([sequence, data]);
    return { received, id: session.id, externalId: session.externalId, turn: session.turn };
  });
  server.send("a");
  const first = start();
  await first.parked();
  server.send("b");
  await first.parked();
  first.suspend();
  server.send("c");
  const second = start();
  await second.parked();
  server.close();
  assert.deepEqual(outputOf(await second.ended), {
    received: [
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ],
    id: "sess_1",
    externalId: "chat-1",
    turn: 1,
  });
});

test("receive gives up after the actor's idle timeout or its own, and says so by null", async () => {
  const { server, start } = declareActor(
    async ({ input }) => [await input.receive(), await input("approvals").receive({ timeout: "1s" })],
    { idleTimeout: "10m" },
  );
  const execution = start();
  await execution.parked();
  server.settle(1, "timed_out");
  await execution.parked();
  assert.deepEqual(
    [...server.waits.values()].map(({ fields }) => [fields.stream, fields.timeout]),
    [
      ["input", "10m"],
      ["approvals", "1s"],
    ],
  );
  server.settle(2, "timed_out");
  assert.deepEqual(outputOf(await execution.ended), [null, null]);
});

test("records are checked by the channel's schema, and one that does not fit can be passed over", async () => {
  const { server, ended } = declareActor(async ({ input }) => {
    const channel = input("amounts", z.object({ cents: z.coerce.number() }));
    const bad = await channel.receive().catch((error: Error) => error);
    assert.ok(bad instanceof InputInvalidError);
    const good = await channel.receive();
    return [bad.message, bad.sequence, good?.data];
  });
  server.send({ cents: "many" }, "amounts");
  server.send({ cents: "7" }, "amounts");
  const [message, sequence, data] = outputOf(await ended()) as [string, number, unknown];
  assert.match(message, /Record 1 of "amounts" does not fit its schema: cents: /);
  assert.deepEqual([sequence, data], [1, { cents: 7 }]);
});

test("a record that does not fit and is not caught fails the run without a retry", async () => {
  const { server, ended } = declareActor(
    async ({ input }) => {
      await input.receive();
    },
    { input: z.string() as never },
  );
  server.send(7);
  const failure = failureOf(await ended());
  assert.match(failure.message, /does not fit its schema/);
  assert.equal(failure.retryable, false);
});

test("appended records are appended once, by streams, and inside a step with it", async () => {
  const { server, start } = declareActor(async ({ output }, { step }) => {
    await output.append({ n: 1 }, { correlationId: "q1", contentType: "application/json" });
    await step("inside", () => output("log").append("from a step"));
    const pieces = await output("text").pipe(["a", "b", "c"]);
    await output.append(pieces.join(""));
    return pieces;
  });
  assert.deepEqual(outputOf(await start().ended), ["a", "b", "c"]);
  const appended = server.outputs.map(({ stream, data, position }) => [stream, data, position]);
  assert.deepEqual(appended, [
    ["output", { n: 1 }, 1],
    ["log", "from a step", null],
    ["text", "a", null],
    ["text", "b", null],
    ["text", "c", null],
    ["output", "abc", 4],
  ]);
  // Replayed as a whole, it appends nothing and takes no piece.
  assert.deepEqual(outputOf(await start().ended), ["a", "b", "c"]);
  assert.equal(server.outputs.length, appended.length);
});

test("an append that the server refuses rejects with its code, at replays too", async () => {
  const { server, ended } = declareActor(async ({ output }) => {
    const error = await output.append("late").catch((thrown: Error) => thrown);
    assert.ok(error instanceof RefusedError);
    return error.code;
  });
  server.close();
  assert.equal(outputOf(await ended()), "session_closed");
  server.closed = false;
  assert.equal(outputOf(await ended()), "session_closed");
});

test("a run sends input to other sessions", async () => {
  const { server, ended } = declare(async () => {
    await sessions.send("sess_2", { hello: 1 }, { stream: "notes" });
    await sessions.send({ externalId: "chat-9" }, "hi");
  });
  outputOf(await ended());
  assert.deepEqual(server.inputs, [
    { to: "sess_2", data: { hello: 1 } },
    { to: "external chat-9", data: "hi" },
  ]);
});

test("actors are in the manifest, and a declaration that cannot be used is refused where it stands", () => {
  actor({ id: "manifest-actor", idleTimeout: "5m", maxDuration: "1h", run: () => undefined });
  const declared = keelson.manifest().actors?.find(({ id }) => id === "manifest-actor");
  assert.deepEqual(declared, { id: "manifest-actor", max_duration: "1h" });
  assert.throws(() => actor({ id: "manifest-actor", run: () => 1 }), /declared twice/);
  assert.throws(() => actor({ id: "has space", run: () => 1 }), UsageError);
  actor({ id: "bad-idle", idleTimeout: "soon" as never, run: () => 1 });
  assert.throws(() => keelson.manifest(), /actor "bad-idle": idleTimeout must be a duration/);
});

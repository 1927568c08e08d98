import assert from "node:assert/strict";
import { test } from "node:test";
import { MESSAGE_CONTENT_TYPE } from "@keelson/contract";
import {
  actor,
  InputInvalidError,
  NonRetryableError,
  RefusedError,
  sessions,
  UsageError,
  wait,
  type InputRecord,
} from "@keelson/sdk";
import { keelson } from "@keelson/sdk/runtime";
import { z } from "zod";
import { until } from "../../server/test/support/until.ts";
import { declare, declareActor, failureOf, outputOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";

test("an actor receives each record once, in order, until its session takes no more input", async () => {
  const { run, start } = declareActor(
    async (session, ctx) => {
      assert.equal(session, ctx.session);
      const received: unknown[] = [];
      for await (const { data, sequence } of session.input) received.push([sequence, data]);
      return { received, id: session.id, externalId: session.externalId, turn: session.turn };
    },
    {},
    { session: { external_id: "chat-1" } },
  );
  await run.send("a");
  const first = start();
  await first.parked();
  await run.send("b");
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.send("c");
  const second = start();
  await second.parked();
  const { session } = await run.started();
  await run.call("POST", `/v1/sessions/${session.id}/close`, {});
  await (await testWorker()).renew();
  assert.deepEqual(outputOf(await second.ended), {
    received: [
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ],
    id: session.id,
    externalId: "chat-1",
    turn: 1,
  });
});

test("pending input is seen and stays where it is, and a replay sees what it saw", async () => {
  const { run, start } = declareActor(
    async ({ input }) => {
      const seen = async (channel: Pick<typeof input, "pending">) =>
        (await channel.pending()).map(({ sequence, data, createdAt }) => [
          ...[sequence, String(data).slice(0, 3), createdAt instanceof Date],
        ]);
      const before = await seen(input);
      await wait.for("1h");
      const after = await seen(input);
      const received = (await input.receive())?.data;
      return { before, after, received, left: await seen(input), others: await seen(input("other")) };
    },
    {},
    { session: {} },
  );
  await run.send("one");
  const first = start();
  await first.parked();
  await run.send("two");
  await run.send("x".repeat(200_000));
  await run.send("y".repeat(200_000));
  // More than a step can give.
  await run.send("z".repeat(200_000));
  first.suspend();
  await first.ended;
  await run.passWait(2);
  const { before, after, received, left, others } = outputOf(await start().ended) as Record<
    string,
    unknown[]
  >;
  assert.deepEqual(before, [[1, "one", true]]);
  assert.deepEqual(
    after?.map((record) => (record as unknown[])[0]),
    [1, 2, 3, 4],
  );
  assert.deepEqual([received, left?.[0], others], ["one", [2, "two", true], []]);
});

test("input that is to steer is seen as such, by a step while it is at work and by whoever receives it", async () => {
  const atWork = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const { run, start } = declareActor(
    async ({ input }, { step }) => {
      const marks = (records: readonly (InputRecord | null)[]) =>
        records.map((record) => [record?.data, record?.steer]);
      const during = await step("work", async () => {
        const before = (await input.pending()).length;
        atWork.resolve();
        await sent.promise;
        return { before, after: marks(await input.pending()) };
      });
      const after = marks(await input.pending());
      return { during, after, received: marks([await input.receive(), await input.receive()]) };
    },
    { whileBusy: "steer" },
    { session: {} },
  );
  const { session } = await run.started();
  const execution = start();
  await atWork.promise;
  const send = async (body: object): Promise<unknown> =>
    (await run.call("POST", `/api/sessions/${session.id}/inputs/input`, body)).disposition;
  assert.equal(await send({ data: "left" }), "steered");
  assert.equal(await send({ data: "later", while_busy: "enqueue" }), "queued");
  sent.resolve();
  const marks = [
    ["left", true],
    ["later", false],
  ];
  assert.deepEqual(outputOf(await execution.ended), {
    during: { before: 0, after: marks },
    after: marks,
    received: marks,
  });
});

test("receive passes over input that was withdrawn, also while it waits", async () => {
  const { run, start } = declareActor(async ({ input }) => [
    (await input.receive())?.data,
    (await input.receive())?.data,
  ]);
  const { session } = await run.started();
  const withdraw = (sequence: number): Promise<unknown> =>
    run.call("DELETE", `/v1/sessions/${session.id}/inputs/${sequence}`);
  for (const data of ["a", "b", "c"]) await run.send(data);
  await withdraw(1);
  await withdraw(3);
  const execution = start();
  await execution.parked();
  await run.send("d");
  await (await testWorker()).renew();
  assert.deepEqual(outputOf(await execution.ended), ["b", "d"]);
});

test("receive gives up after the actor's idle timeout or its own, and says so by null", async () => {
  const { run, start } = declareActor(
    async ({ input }) => [await input.receive(), await input("approvals").receive({ timeout: "1s" })],
    { idleTimeout: "10m" },
  );
  const execution = start();
  await execution.parked();
  await run.passWait(1);
  await execution.parked();
  assert.deepEqual(
    [...run.asked.values()].map(({ stream, timeout }) => [stream, timeout]),
    [
      ["input", "10m"],
      ["approvals", "1s"],
    ],
  );
  await run.passWait(2);
  assert.deepEqual(outputOf(await execution.ended), [null, null]);
});

test("records are checked by the channel's schema, and one that does not fit can be passed over", async () => {
  const { run, ended } = declareActor(async ({ input }) => {
    const channel = input("amounts", z.object({ cents: z.coerce.number() }));
    const bad = await channel.receive().catch((error: Error) => error);
    assert.ok(bad instanceof InputInvalidError);
    const good = await channel.receive();
    return [bad.message, bad.sequence, good?.data];
  });
  await run.send({ cents: "many" }, "amounts");
  await run.send({ cents: "7" }, "amounts");
  const [message, sequence, data] = outputOf(await ended()) as [string, number, unknown];
  assert.match(message, /Record 1 of "amounts" does not fit its schema: cents: /);
  assert.deepEqual([sequence, data], [1, { cents: 7 }]);
});

test("a record that does not fit and is not caught fails the run without a retry", async () => {
  const { run, ended } = declareActor(
    async ({ input }) => {
      await input.receive();
    },
    { input: z.string() as never },
  );
  await run.send(7);
  const failure = failureOf(await ended());
  assert.match(failure.message, /does not fit its schema/);
  assert.equal(failure.retryable, false);
});

test("appended records are appended once, by streams, and inside a step with it", async () => {
  const { run, start } = declareActor(async ({ output }, { step }) => {
    await output.append({ n: 1 }, { correlationId: "q1", contentType: "application/json" });
    await step("inside", () => output("log").append("from a step"));
    const pieces = await output("text").pipe(["a", "b", "c"]);
    await output.append(pieces.join(""));
    return pieces;
  });
  const appended = async (): Promise<unknown[]> =>
    (await Promise.all(["output", "log", "text"].map((name) => run.records("outputs", name))))
      .flat()
      .filter(({ content_type: type }) => type !== MESSAGE_CONTENT_TYPE)
      .map(({ stream, data }) => [stream, data]);
  const first = start({ dieAt: "end" });
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), ["a", "b", "c"]);
  const all = [
    ["output", { n: 1 }],
    ["output", "abc"],
    ["log", "from a step"],
    ["text", "a"],
    ["text", "b"],
    ["text", "c"],
  ];
  assert.deepEqual(await appended(), all);
  const [{ correlation_id: correlationId, content_type: contentType } = {}] = await run.records();
  assert.deepEqual([correlationId, contentType], ["q1", "application/json"]);
  const messages = (await run.records("outputs", "text")).map(({ message_id: id }) => id);
  assert.match(messages[0] ?? "", /^msg_/);
  // The last one says that it has ended.
  assert.deepEqual(messages, [messages[0], messages[0], messages[0], messages[0]]);
  assert.deepEqual(
    (await run.records()).map(({ message_id: id }) => id),
    [null, null],
  );
  // Replayed as a whole, it appends nothing and takes no piece.
  assert.deepEqual(outputOf(await start().ended), ["a", "b", "c"]);
  assert.deepEqual(await appended(), all);
});

test("each pipe writes a message of its own, and so does another try of it", async () => {
  const { run, ended } = declareActor(async ({ output }, { step }) => {
    await Promise.all([output("one").pipe(["a", "b"]), output("two").pipe(["a", "b"])]);
    await step(
      "again",
      async ({ attempt }) => {
        await output("three").pipe(attempt === 1 ? ["a"] : ["a", "b"]);
        if (attempt === 1) throw new Error("broke off");
      },
      { retry: { initialDelay: "1ms" } },
    );
  });
  outputOf(await ended());
  const all = await Promise.all(["one", "two", "three"].map((name) => run.records("outputs", name)));
  const ids = all.map((records) => records.map(({ message_id: id }) => id));
  const [[one], [two], [first, , second]] = ids as [string[], string[], string[]];
  assert.deepEqual(ids, [
    [one, one, one],
    [two, two, two],
    [first, first, second, second, second],
  ]);
  assert.equal(new Set([one, two, first, second]).size, 4);
});

test("a message ends as its source does", async () => {
  async function* breaking(): AsyncGenerator<string> {
    yield "half";
    throw new NonRetryableError("the model hung up");
  }
  const { run, ended } = declareActor(async ({ output }) => {
    await output("whole").pipe(["a", "b"]);
    await output("none").pipe([]);
    await output("half").pipe(breaking());
  });
  const failure = failureOf(await ended());
  assert.match(failure.message, /the model hung up/);
  const lastOf = async (stream: string): Promise<unknown> =>
    (await run.records("outputs", stream)).at(-1)?.data;
  const [{ message_id: whole } = {}] = await run.records("outputs", "whole");
  const [{ message_id: half } = {}] = await run.records("outputs", "half");
  assert.deepEqual(await lastOf("whole"), { event: "ended", message_id: whole, status: "complete" });
  // Its session is told of the end of the run after that, and then ends what the code left open.
  await until("the message ends", 10_000, async () => (await lastOf("half")) !== "half");
  assert.deepEqual(await lastOf("half"), { event: "ended", message_id: half, status: "failed" });
  assert.deepEqual(await run.records("outputs", "none"), []);
});

test("input that another session refuses rejects with the code, at replays too", async () => {
  const other = declareActor(() => 1, {}, { delay: "1d" });
  const { session } = await other.run.started();
  await other.run.call("POST", `/v1/sessions/${session.id}/close`, {});
  const { run, start } = declare(async () => {
    const error = await sessions.send(session.id, "late").catch((thrown: Error) => thrown);
    assert.ok(error instanceof RefusedError);
    return error.code;
  });
  const first = start({ dieAt: "end" });
  assert.equal(await first.ended, null);
  assert.equal(outputOf(first.result), "session_closed");
  assert.equal((await run.journal()).length, 1);
  assert.equal(outputOf(await start().ended), "session_closed");
});

test("a run sends input to other sessions", async () => {
  const named = declareActor(() => 1, {}, { session: { external_id: "chat-9" }, delay: "1d" });
  const other = declareActor(() => 1, {}, { delay: "1d" });
  const [{ session }] = await Promise.all([other.run.started(), named.run.started()]);
  const { ended } = declare(async () => {
    await sessions.send(session.id, { hello: 1 }, { stream: "notes" });
    await sessions.send({ externalId: "chat-9" }, "hi");
  });
  outputOf(await ended());
  const sent = [await other.run.records("inputs", "notes"), await named.run.records("inputs", "input")];
  assert.deepEqual(
    sent.flat().map(({ stream, data }) => [stream, data]),
    [
      ["notes", { hello: 1 }],
      ["input", "hi"],
    ],
  );
});

test("actors are in the manifest, and a declaration that cannot be used is refused where it stands", () => {
  actor({ id: "manifest-actor", idleTimeout: "5m", maxDuration: "1h", run: () => undefined });
  const declared = keelson.manifest().actors?.find(({ id }) => id === "manifest-actor");
  assert.deepEqual(declared, {
    id: "manifest-actor",
    max_duration: "1h",
    session_on_failure: "keep_open",
  });
  actor({ id: "ends", sessionOnFailure: "end", run: () => undefined });
  assert.equal(keelson.manifest().actors?.find(({ id }) => id === "ends")?.session_on_failure, "end");
  actor({ id: "refuses", whileBusy: "reject", run: () => undefined });
  assert.equal(keelson.manifest().actors?.find(({ id }) => id === "refuses")?.while_busy, "reject");
  assert.throws(
    () => actor({ id: "neither", whileBusy: "queue" as never, run: () => 1 }),
    /"neither": whileBusy is "queue"; it must be "enqueue", "interrupt", "steer" or "reject"/,
  );
  assert.throws(
    () => actor({ id: "neither", sessionOnFailure: "close" as never, run: () => 1 }),
    /"neither": sessionOnFailure is "close"; it must be "keep_open" or "end"/,
  );
  assert.throws(() => actor({ id: "manifest-actor", run: () => 1 }), /declared twice/);
  assert.throws(
    () => actor({ id: "misspelt", idleTimeOut: "1m", run: () => 1 } as never),
    /^UsageError: actor\(\): "misspelt": there is no option "idleTimeOut"; there are .*idleTimeout/,
  );
  assert.throws(() => actor({ id: "has space", run: () => 1 }), UsageError);
  actor({ id: "bad-idle", idleTimeout: "soon" as never, run: () => 1 });
  assert.throws(() => keelson.manifest(), /actor "bad-idle": idleTimeout must be a duration/);
});

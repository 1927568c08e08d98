import assert from "node:assert/strict";
import { after, afterEach, before, suite, test } from "node:test";
import { Client, ConflictError, ApiError, NotFoundError, type Session } from "@keelson/sdk";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";

let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "review" }], actors: [{ id: "chat" }] });
  client = connect();
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const connect = (url = scene.server.url): Client =>
  new Client({ url, apiKey: scene.server.credentials.api_key });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

const dataOf = (records: readonly { data: unknown }[]): unknown[] => records.map(({ data }) => data);
const isConflict =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ConflictError && error.code === code;

suite("actors and sessions", () => {
  test("an actor is listed, found and started once for an external id", async () => {
    const { items } = await client.actors.list().page();
    assert.deepEqual(
      items.map(({ declaredId }) => declaredId),
      ["chat"],
    );
    assert.equal((await client.actors.get(items[0]?.id ?? "")).declaredId, "chat");
    const options = {
      session: { externalId: "ticket-1", metadata: { a: 1 }, tags: ["vip"] },
      tags: ["first"],
    };
    const { session, run } = await client.actors.start("chat", { text: "Hello" }, options);
    assert.partialDeepStrictEqual(session, {
      actor: "chat",
      externalId: "ticket-1",
      status: "open",
      metadata: { a: 1 },
      tags: ["vip"],
      currentRunId: run.id,
    });
    assert.partialDeepStrictEqual(run, { actor: "chat", sessionId: session.id, turn: 1, tags: ["first"] });
    assert.deepEqual(dataOf(await collect(client.sessions.records(session.id, { direction: "input" }))), [
      { text: "Hello" },
    ]);
    assert.equal((await client.actors.start("chat", undefined, options)).session.id, session.id);
    await assert.rejects(
      client.sessions.create({ task: "review", externalId: "ticket-1" }),
      isConflict("session_conflict"),
    );
    await assert.rejects(client.actors.start("absent"), NotFoundError);
  });

  test("a session is made, found, changed, closed and cancelled", async () => {
    const session = await client.sessions.create({
      task: { id: "review" },
      payload: { path: "." },
      externalId: "pr/1 é",
      maxDuration: "5m",
      expiresAt: new Date(Date.now() + 3_600_000),
    });
    assert.equal((await client.sessions.get(session.id)).id, session.id);
    assert.equal((await client.sessions.getByExternalId("pr/1 é")).id, session.id);
    await assert.rejects(client.sessions.get("pr/1 é"), NotFoundError);
    await client.sessions.create({ task: "review" });
    const found = await collect(client.sessions.list({ externalId: "pr/1 é", limit: 1 }));
    assert.deepEqual(
      found.map(({ id }) => id),
      [session.id],
    );
    const changed = await client.sessions.update(session.id, {
      metadata: { b: 2 },
      tags: ["x"],
      expiresAt: null,
    });
    assert.partialDeepStrictEqual(changed, { metadata: { b: 2 }, tags: ["x"], expiresAt: null });
    const [run] = await collect(client.sessions.runs(session.id));
    assert.partialDeepStrictEqual(run, {
      id: session.currentRunId,
      payload: { path: "." },
      maxDuration: "5m",
    });
    const closed = await client.sessions.close(session.id, { reason: "merged" });
    assert.partialDeepStrictEqual(closed, { status: "closed", closeReason: "merged" });
    assert.equal((await client.sessions.close(session.id)).status, "closed");
    await assert.rejects(client.sessions.cancel(session.id), isConflict("invalid_state"));
    await assert.rejects(client.sessions.send(session.id, 1), isConflict("session_closed"));
    const next = await client.sessions.create({ task: "review", externalId: "pr/1 é" });
    assert.notEqual(next.id, session.id);
    assert.equal((await client.sessions.cancel(next.id)).status, "cancelled");
    assert.equal((await client.runs.wait(next.currentRunId)).status, "cancelled");
  });

  test("start-and-wait gives the ended run, or the live one when it takes too long", async () => {
    const request = { task: "review", idempotencyKey: "wait-1" } as const;
    const late = await client.sessions.startAndWait({ ...request, timeout: "100ms" });
    assert.deepEqual([late.timedOut, late.run.status], [true, "queued"]);
    const waiting = client.sessions.startAndWait({ ...request, timeout: "100ms" });
    const again = await waiting;
    assert.equal(again.run.id, late.run.id);
    const lease = await scene.worker.takeOne();
    const ended = client.sessions.startAndWait({ task: "review", externalId: "wait-2", timeout: "30s" });
    await scene.worker.finish(lease);
    await scene.worker.finish(await scene.worker.takeOne(), "succeeded", { output: { ok: true } });
    assert.partialDeepStrictEqual(await ended, {
      timedOut: false,
      session: { externalId: "wait-2", activity: "idle" },
      run: { status: "succeeded", output: { ok: true } },
    });
  });
});

suite("streams", () => {
  const create = (): Promise<Session> => client.sessions.create({ actor: "chat" });

  test("what is sent and appended is read in order, by correlation id and by page", async () => {
    const { id } = await create();
    const sent = await client.sessions.send(id, "one", { correlationId: "q-1", contentType: "text/plain" });
    assert.partialDeepStrictEqual(sent, {
      sequence: 1,
      stream: "input",
      data: "one",
      correlationId: "q-1",
      contentType: "text/plain",
    });
    await client.sessions.send(id, { command: "stop" }, { stream: "control" });
    const batch = await client.sessions.appendBatch(id, [
      { data: 1, correlationId: "q-1" },
      { data: 2, correlationId: "q-2" },
      { data: undefined },
    ]);
    assert.deepEqual(
      batch.map(({ sequence }) => sequence),
      [1, 2, 3],
    );
    await client.sessions.append(id, 4);
    assert.deepEqual(dataOf(await collect(client.sessions.records(id))), [1, 2, null, 4]);
    assert.deepEqual(dataOf(await collect(client.sessions.records(id, { cursor: 2 }))), [null, 4]);
    assert.deepEqual(dataOf(await collect(client.sessions.records(id, { correlationId: "q-1" }))), [1]);
    const page = await client.sessions.read(id, { limit: 2 });
    assert.deepEqual([dataOf(page.records), page.nextCursor, page.ended], [[1, 2], "2", false]);
    const none = await client.sessions.read(id, { cursor: 4, wait: "50ms" });
    assert.deepEqual([none.records, none.nextCursor], [[], "4"]);
    const streams = await collect(client.sessions.streams(id));
    assert.deepEqual(streams.map(({ name, direction }) => `${direction} ${name}`).toSorted(), [
      "input control",
      "input input",
      "output output",
    ]);
    await assert.rejects(
      client.sessions.send(id, 1, { stream: "output" }),
      isConflict("stream_direction_mismatch"),
    );
  });

  test("input that no run has received is seen, and can be withdrawn", async () => {
    const { id } = await create();
    const conversation = client.sessions.open(id);
    const first = await conversation.send("first");
    assert.equal(first.disposition, "queued");
    const batch = await conversation.sendBatch([{ data: "second" }, { data: "third" }]);
    assert.deepEqual(
      batch.map(({ disposition }) => disposition),
      ["queued", "queued"],
    );
    const gone = await conversation.withdraw(2);
    assert.deepEqual([gone.data, typeof gone.withdrawnAt], [null, "string"]);
    assert.deepEqual(await client.sessions.withdraw({ id }, 2), gone);
    const queued = await client.sessions.read(id, { direction: "input", received: false });
    assert.deepEqual(dataOf(queued.records), ["first", "third"]);
    await conversation.send("note", { stream: "notes" });
    assert.equal((await conversation.withdraw(1, { stream: "notes" })).stream, "notes");
    await assert.rejects(conversation.withdraw(9), NotFoundError);
    await assert.rejects(conversation.send("busy", { whileBusy: "reject" }), isConflict("session_busy"));
    await assert.rejects(
      conversation.sendBatch([{ data: "busy" }], { whileBusy: "reject" }),
      isConflict("session_busy"),
    );
  });

  test("a read waits for what comes", async () => {
    const { id } = await create();
    const waiting = client.sessions.read(id, { wait: "30s" });
    await client.sessions.append(id, "late");
    assert.deepEqual(dataOf((await waiting).records), ["late"]);
  });

  test("an append whose answer is lost is there once with a key, and its outcome unknown without", async () => {
    const { id } = await create();
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 1 ? "pass" : "cut after",
    );
    const { sessions } = connect(proxy.url);
    const record = await sessions.send(id, 1, { idempotencyKey: "k", idempotencyKeyTtl: "1h" });
    assert.equal(record.sequence, 1);
    await assert.rejects(
      sessions.send(id, 2),
      (error: unknown) => error instanceof ApiError && error.outcomeUnknown,
    );
    assert.deepEqual(dataOf(await collect(client.sessions.records(id, { direction: "input" }))), [1, 2]);
  });

  test("a follower sees every record once and in order over disconnects, until the session has ended", async () => {
    const { id } = await create();
    let connections = 0;
    await using proxy = await startFaultProxy(scene.server.url, () => {
      connections += 1;
      return connections % 3 === 0 ? "pass" : { events: 7 };
    });
    const following = collect(
      connect(proxy.url).sessions.records<number>(id, { follow: true, maxReconnects: 100 }),
    );
    for (const i of numbers(20))
      await client.sessions.appendBatch(
        id,
        numbers(5).map((n) => ({ data: (i - 1) * 5 + n })),
      );
    await client.sessions.cancel(id);
    const records = await following;
    assert.deepEqual(dataOf(records), numbers(100));
    assert.deepEqual(
      records.map(({ sequence }) => sequence),
      numbers(100),
    );
    assert.ok(connections > 2);
    assert.deepEqual(
      dataOf(await collect(client.sessions.records(id, { follow: true, cursor: 98 }))),
      [99, 100],
    );
  });

  test("a follower stops when its signal is aborted, and refuses what is not there", async () => {
    const { id } = await create();
    const controller = new AbortController();
    const following = collect(client.sessions.records(id, { follow: true, signal: controller.signal }));
    controller.abort(new Error("left"));
    await assert.rejects(following, /left/);
    await assert.rejects(
      collect(client.sessions.records(id.replace(/.{4}$/, "0000"), { follow: true })),
      NotFoundError,
    );
  });
});

suite("a session at hand", () => {
  test("is talked to by its id", async () => {
    const conversation = client.sessions.open(await client.sessions.create({ actor: "chat" }));
    await conversation.send("a");
    await conversation.sendBatch([{ data: "b" }, { data: "c" }]);
    await conversation.append("answer", { correlationId: "q" });
    assert.deepEqual(dataOf(await collect(conversation.input("input", { follow: false }))), ["a", "b", "c"]);
    const output = conversation.output<string>();
    const first = await output.next();
    assert.equal((first.value as { data: string }).data, "answer");
    await conversation.update({ tags: ["seen"] });
    assert.deepEqual((await conversation.get()).tags, ["seen"]);
    assert.equal((await collect(conversation.streams())).length, 2);
    assert.equal((await conversation.runs().page()).items.length, 1);
    await conversation.cancel();
    assert.equal((await output.next()).done, true);
  });

  test("by an external id stays the session that it first was", async () => {
    const first = await client.sessions.create({ actor: "chat", externalId: "same" });
    const [byRead, bySend] = [1, 2].map(() => client.sessions.open({ externalId: "same" })) as [
      ReturnType<typeof client.sessions.open>,
      ReturnType<typeof client.sessions.open>,
    ];
    assert.equal((await byRead.get()).id, first.id);
    await bySend.send("hello");
    await client.sessions.cancel(first.id);
    const second = await client.sessions.create({ actor: "chat", externalId: "same" });
    assert.equal(await byRead.id(), first.id);
    assert.equal(await bySend.id(), first.id);
    await assert.rejects(bySend.send("more"), isConflict("session_closed"));
    assert.equal(await client.sessions.open({ externalId: "same" }).id(), second.id);
    await assert.rejects(client.sessions.open({ externalId: "absent" }).get(), NotFoundError);
  });
});

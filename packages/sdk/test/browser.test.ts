import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import type { PublicSessionScope } from "@keelson/contract";
import { Client, UsageError } from "@keelson/sdk";
import {
  AuthenticationError,
  createSessionClient,
  PermissionError,
  type SessionClient,
  type TokenNeed,
} from "@keelson/sdk/browser";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { bundleForPages } from "./support/open-page.ts";

let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
  client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const dataOf = (records: readonly { data: unknown }[]): unknown[] => records.map(({ data }) => data);

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

async function openSession(): Promise<string> {
  return (await client.sessions.create({ actor: "chat" })).id;
}

type Extra = { correlationId?: string; maxUses?: number; stream?: string };

const tokenFor = async (id: string, type: PublicSessionScope, extra: Extra = {}) =>
  (await client.publicAccessTokens.create({ type, session: id, ...extra })).publicAccessToken;

async function pageOf(id: string, url = scene.server.url): Promise<SessionClient> {
  const token = {
    send: await tokenFor(id, "session.input.send"),
    read: await tokenFor(id, "session.output.read"),
  };
  return createSessionClient({ url, token, session: { id } });
}

test("a page sends and follows with public access tokens alone", async () => {
  const id = await openSession();
  const page = await pageOf(id);
  const record = await page.send("input", { text: "Hello" }, { contentType: "application/json" });
  assert.partialDeepStrictEqual(record, { sequence: 1, source: { kind: "public_access_token" } });
  await page.sendBatch("input", [{ data: 2 }, { data: 3 }]);
  assert.deepEqual(dataOf(await collect(client.sessions.records(id, { direction: "input" }))), [
    { text: "Hello" },
    2,
    3,
  ]);
  const following = collect(page.output("output"));
  await client.sessions.appendBatch(
    id,
    numbers(3).map((data) => ({ data })),
  );
  await client.sessions.cancel(id);
  assert.deepEqual(dataOf(await following), [1, 2, 3]);
  assert.deepEqual(dataOf(await collect(page.output("output", { cursor: 2 }))), [3]);
});

test("a session is addressed by its external id, as the token's scope may be", async () => {
  const { id } = await client.sessions.create({ actor: "chat", externalId: "ticket 9/é" });
  const session = { externalId: "ticket 9/é" };
  const make = async (type: "session.input.send" | "session.output.read") =>
    (await client.publicAccessTokens.create({ type, session })).publicAccessToken;
  const token = { send: await make("session.input.send"), read: await make("session.output.read") };
  const page = createSessionClient({ url: scene.server.url, token, session });
  assert.equal((await page.send("input", 1)).sessionId, id);
  await client.sessions.append(id, "answer");
  for await (const record of page.output("output")) {
    assert.equal(record.data, "answer");
    break;
  }
});

test("lists of a session that is addressed by its external id are read by pages", async () => {
  const externalId = "ticket 10/é";
  const { id } = await client.sessions.create({ actor: "chat", externalId });
  const session = { externalId };
  const uploaded: string[] = [];
  for (const text of ["a", "b", "c"])
    uploaded.unshift((await client.sessions.files.upload(session, text)).id);
  const listed = await collect(client.sessions.files.list(session, { limit: 2 }));
  assert.deepEqual(
    listed.map((file) => [file.id, file.sessionId]),
    uploaded.map((file) => [file, id]),
  );
  const { publicAccessToken: token } = await client.publicAccessTokens.create({
    ...{ type: "session.chat", session },
    outputs: ["output"],
  });
  const page = createSessionClient({ url: scene.server.url, token, session });
  assert.deepEqual((await page.messages({ stream: "output", limit: 1 }).page()).items, []);
  await client.sessions.cancel(id);
});

test("what is sent is there once, however often its answer was lost", async () => {
  const id = await openSession();
  await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
    index < 2 ? "cut after" : "pass",
  );
  const page = await pageOf(id, proxy.url);
  assert.equal((await page.send("input", "once")).sequence, 1);
  assert.equal((await page.send("input", "once")).sequence, 2);
  assert.deepEqual(dataOf(await collect(client.sessions.records(id, { direction: "input" }))), [
    "once",
    "once",
  ]);
});

test("several streams come over one connection, each record once, over disconnects", async () => {
  const id = await openSession();
  const names = ["answer", "notes"];
  const { publicAccessToken: chat } = await client.publicAccessTokens.create({
    ...{ type: "session.chat", session: id, outputs: names },
  });
  await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
    index < 3 ? { events: 7 } : "pass",
  );
  const page = createSessionClient({ url: proxy.url, token: { chat }, session: { id } });
  const following = collect(page.output<number>(names));
  for (const stream of names)
    await client.sessions.appendBatch(
      id,
      numbers(20).map((data) => ({ data })),
      { stream },
    );
  await client.sessions.cancel(id);
  const records = await following;
  for (const name of names)
    assert.deepEqual(dataOf(records.filter(({ stream }) => stream === name)), numbers(20), name);
  assert.equal(records.length, 40);
  const opened = client.sessions.open(id);
  const rest = await collect(opened.output<number>(names, { cursor: { answer: 18, notes: 19 } }));
  assert.deepEqual(rest.map(({ stream, data }) => `${stream} ${data}`).toSorted(), [
    "answer 19",
    "answer 20",
    "notes 20",
  ]);
  await assert.rejects(collect(opened.output(names, { follow: false })), UsageError);
});

test("an output goes on over disconnects and says that it does", async () => {
  const id = await openSession();
  await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
    index < 3 ? { events: 10 } : index === 3 ? { status: 503 } : "pass",
  );
  const page = await pageOf(id, proxy.url);
  let reconnections = 0;
  let connections = 0;
  const onReconnect = () => (reconnections += 1);
  const onConnect = () => (connections += 1);
  const following = collect(page.output<number>("output", { onConnect, onReconnect }));
  await client.sessions.appendBatch(
    id,
    numbers(50).map((data) => ({ data })),
  );
  await client.sessions.cancel(id);
  assert.deepEqual(dataOf(await following), numbers(50));
  assert.equal(reconnections, 4);
  // One of them was refused.
  assert.equal(connections, 4);
});

test("a token that is used up or was refused is asked for again, from a function only", async () => {
  const id = await openSession();
  const needs: TokenNeed[] = [];
  const spent = await tokenFor(id, "session.output.read", { maxUses: 1 });
  const token = async (need: TokenNeed): Promise<string> => {
    needs.push(need);
    if (need.permission === "session.input.send")
      return need.renew ? tokenFor(id, need.permission) : "kl_pub_none";
    return need.renew ? tokenFor(id, need.permission, { maxUses: 1 }) : spent;
  };
  await using proxy = await startFaultProxy(scene.server.url, ({ method }, index) =>
    method === "GET" && index < 3 ? { events: 1 } : "pass",
  );
  const page = createSessionClient({ url: proxy.url, token, session: { id } });
  const following = collect(page.output("output"));
  await client.sessions.appendBatch(
    id,
    numbers(4).map((data) => ({ data })),
  );
  await client.sessions.cancel(id);
  assert.deepEqual(dataOf(await following), numbers(4));
  const other = await openSession();
  assert.deepEqual(needs.slice(0, 3), [
    { permission: "session.output.read", stream: "output", correlationId: null, renew: false },
    { permission: "session.output.read", stream: "output", correlationId: null, renew: false },
    { permission: "session.output.read", stream: "output", correlationId: null, renew: true },
  ]);
  const renewed = createSessionClient({
    url: scene.server.url,
    session: { id: other },
    token: async ({ permission, renew }) => (renew ? tokenFor(other, permission) : "kl_pub_none"),
  });
  assert.equal((await renewed.send("input", 1)).sequence, 1);
  const fixed = createSessionClient({ url: scene.server.url, session: { id }, token: spent });
  await assert.rejects(collect(fixed.output("output")), AuthenticationError);
});

test("a token is good for its stream, direction and correlation id alone", async () => {
  const id = await openSession();
  const token = await tokenFor(id, "session.input.send", { correlationId: "q-1" });
  const page = createSessionClient({ url: scene.server.url, token, session: { id } });
  const isMismatch = (error: unknown): boolean =>
    error instanceof PermissionError && error.code === "scope_mismatch";
  await assert.rejects(page.send("input", 1), isMismatch);
  await assert.rejects(page.send("other", 1, { correlationId: "q-1" }), isMismatch);
  await assert.rejects(collect(page.output("output", { correlationId: "q-1" })), isMismatch);
  assert.equal((await page.send("input", 1, { correlationId: "q-1" })).correlationId, "q-1");
  assert.equal((await page.sendBatch("input", [{ data: 2 }], { correlationId: "q-1" })).length, 1);
  const reader = createSessionClient({
    url: scene.server.url,
    token: { read: await tokenFor(id, "session.output.read", { correlationId: "q-1" }) },
    session: { id },
  });
  await client.sessions.appendBatch(id, [
    { data: 1, correlationId: "q-2" },
    { data: 2, correlationId: "q-1" },
  ]);
  await client.sessions.cancel(id);
  assert.deepEqual(dataOf(await collect(reader.output("output", { correlationId: "q-1" }))), [2]);
  await assert.rejects(reader.send("input", 1), /No public access token for session.input.send/);
});

test("the bundled entry works where there is nothing but what a page has", async () => {
  const web = {
    fetch,
    URL,
    URLSearchParams,
    AbortController,
    TextDecoder,
    TextEncoder,
    setTimeout,
    clearTimeout,
    crypto,
  };
  const context = createContext({ ...web, queueMicrotask });
  runInContext(await bundleForPages(), context);
  const id = await openSession();
  await client.sessions.append(id, "out");
  const token = {
    send: await tokenFor(id, "session.input.send"),
    read: await tokenFor(id, "session.output.read"),
  };
  Object.assign(context, { options: { url: scene.server.url, token, session: { id } } });
  const seen = (await runInContext(
    `(async () => {
      const session = keelson.createSessionClient(options);
      const { sequence } = await session.send("input", "in");
      for await (const { data } of session.output("output")) return [sequence, data, typeof process, typeof Buffer];
    })()`,
    context,
  )) as unknown[];
  assert.deepEqual([...seen], [1, "out", "undefined", "undefined"]);
});

test("one token for a conversation sends, follows, lists and interrupts", async () => {
  const id = await openSession();
  const { publicAccessToken: chat } = await client.publicAccessTokens.create({
    ...{ type: "session.chat", session: id },
    outputs: ["answer"],
  });
  for (const token of [chat, { chat }]) {
    const page = createSessionClient({ url: scene.server.url, session: { id }, token });
    assert.equal((await page.send("input", "hi")).stream, "input");
    assert.deepEqual((await page.messages({ stream: "answer", status: "open" }).page()).items, []);
    await assert.rejects(page.messages({ stream: "output" }).page(), PermissionError);
    await assert.rejects(page.interrupt("msg_00000000000000000000000000"), PermissionError);
  }
  const needs: TokenNeed[] = [];
  const asked = createSessionClient({
    url: scene.server.url,
    session: { id },
    token: (need) => {
      needs.push(need);
      return chat;
    },
  });
  await asked.messages().page();
  await assert.rejects(
    asked.interrupt("msg_00000000000000000000000000", { stream: "answer" }),
    PermissionError,
  );
  assert.deepEqual(
    needs.slice(0, 2).map(({ permission, stream }) => [permission, stream]),
    [
      ["session.messages.read", "output"],
      ["session.interrupt", "answer"],
    ],
  );
});

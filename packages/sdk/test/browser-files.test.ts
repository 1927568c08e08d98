// Files of a session for a page, with public access tokens alone.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { PublicSessionScope } from "@keelson/contract";
import { Client } from "@keelson/sdk";
import { ConflictError, PermissionError, type TokenNeed } from "@keelson/sdk/browser";
import { createSessionFilesClient, type HandleFiles } from "@keelson/sdk/browser/files";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";

let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
  client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const BYTES = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256);

const openSession = async (): Promise<string> => (await client.sessions.create({ actor: "chat" })).id;
const tokenFor = async (id: string, type: PublicSessionScope): Promise<string> =>
  (await client.publicAccessTokens.create({ type, session: id })).publicAccessToken;

async function whole(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function uploadsAndReads(files: HandleFiles, sessionId: string): Promise<void> {
  const file = await files.upload(new File([BYTES], "a b.png", { type: "image/png" }));
  assert.deepEqual(
    [file.sessionId, file.name, file.mediaType, file.sizeBytes],
    [sessionId, "a b.png", "image/png", BYTES.length],
  );
  assert.deepEqual(await files.get(file.id), file);
  assert.deepEqual((await files.list({ limit: 5 }).page()).items, [file]);
  assert.ok(Buffer.from(await files.read(file.id)).equals(BYTES));
  assert.ok((await whole(await files.stream(file.id))).equals(BYTES));
}

test("a page uploads and reads files with one token for a conversation", async () => {
  const chat = async (id: string): Promise<string> => tokenFor(id, "session.chat");
  for (const tokenOf of [chat, async (id: string) => ({ chat: await chat(id) })]) {
    const id = await openSession();
    const token = await tokenOf(id);
    await uploadsAndReads(createSessionFilesClient({ url: scene.server.url, token, session: { id } }), id);
  }
  const { id } = await client.sessions.create({ actor: "chat", externalId: "ticket 9/é" });
  const session = { externalId: "ticket 9/é" };
  const { publicAccessToken: token } = await client.publicAccessTokens.create({
    ...{ type: "session.chat", session },
  });
  await uploadsAndReads(createSessionFilesClient({ url: scene.server.url, token, session }), id);
});

test("a function is asked for each permission, and again when the server refused its token", async () => {
  const id = await openSession();
  const needs: TokenNeed[] = [];
  const files = createSessionFilesClient({
    url: scene.server.url,
    session: { id },
    token: async (need) => {
      needs.push(need);
      return need.renew ? tokenFor(id, need.permission) : "kl_pub_expired";
    },
  });
  const { id: fileId } = await files.upload("text");
  assert.equal(Buffer.from(await files.read(fileId)).toString(), "text");
  const asked = (permission: string) =>
    [false, true].map((renew) => ({ permission, stream: "", correlationId: null, renew }));
  assert.deepEqual(needs, [...asked("session.files.write"), ...asked("session.files.read")]);
});

test("a token for one permission is for nothing else", async () => {
  const id = await openSession();
  const filesBy = async (type: PublicSessionScope): Promise<HandleFiles> =>
    createSessionFilesClient({ url: scene.server.url, session: { id }, token: await tokenFor(id, type) });
  const writing = await filesBy("session.files.write");
  const { id: fileId } = await writing.upload("text");
  await assert.rejects(writing.read(fileId), PermissionError);
  const reading = await filesBy("session.files.read");
  assert.equal(Buffer.from(await reading.read(fileId)).toString(), "text");
  await assert.rejects(reading.upload("other"), PermissionError);
  await assert.rejects(reading.stream("file_00000000000000000000000000"), PermissionError);
  await client.sessions.close(id);
  await assert.rejects(
    writing.upload("late"),
    (error) => error instanceof ConflictError && error.code === "session_closed",
  );
});

test("an upload whose answer was lost is there once", async () => {
  const id = await openSession();
  await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
    index === 0 ? "cut after" : "pass",
  );
  const token = await tokenFor(id, "session.chat");
  const files = createSessionFilesClient({ url: proxy.url, session: { id }, token });
  const { id: fileId } = await files.upload("once");
  assert.deepEqual(
    (await files.list().page()).items.map((file) => file.id),
    [fileId],
  );
});

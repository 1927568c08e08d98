// Files of a session at the client, in the code of its turns, and in process.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import { actor, BadRequestError, Client, ConflictError, NotFoundError, PermissionError } from "@keelson/sdk";
import { openSession } from "@keelson/sdk/testing";
import { declareActor, outputOf } from "./support/declare.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { testWorker } from "./support/test-worker.ts";

const PICTURE = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256);
const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

async function connected(run: KeptRun) {
  const { server } = await testWorker();
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const { session } = await run.started();
  return { client, id: session.id as string };
}

async function collected(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

describe("client.sessions.files", () => {
  test("uploads what it is given, and reads it whole or as it comes", async () => {
    const { client, id } = await connected(declareActor(async () => null).run);
    const file = await client.sessions.files.upload(id, PICTURE, { name: "a b.png", mediaType: "image/png" });
    const { sessionId, name, mediaType, sizeBytes, sha256 } = file;
    assert.deepEqual(
      [sessionId, name, mediaType, sizeBytes, sha256],
      [id, "a b.png", "image/png", PICTURE.length, digestOf(PICTURE)],
    );
    assert.deepEqual(await client.sessions.files.get(id, file.id), file);
    assert.ok(Buffer.from(await client.sessions.files.read(id, file.id)).equals(PICTURE));
    assert.ok((await collected(await client.sessions.files.stream(id, file.id))).equals(PICTURE));
    const again = await client.sessions.files.upload(id, PICTURE, {
      name: "a b.png",
      mediaType: "image/png",
    });
    assert.equal(again.id, file.id);
  });

  test("takes bytes, texts, blobs, files and streams", async () => {
    const { client, id } = await connected(declareActor(async () => null).run);
    const { files } = client.sessions;
    const blob = new Blob(["é"], { type: "text/plain" });
    const uploads = [
      await files.upload(id, "é"),
      await files.upload(id, Buffer.from("é").buffer.slice(0, 0)),
      await files.upload(id, blob),
      await files.upload(id, new File([blob], "e.txt", { type: "text/plain" })),
      await files.upload(id, blob.stream(), { name: "streamed" }),
    ];
    assert.deepEqual(
      uploads.map(({ sizeBytes, mediaType, name }) => [sizeBytes, mediaType, name]),
      [
        [2, "application/octet-stream", null],
        [0, "application/octet-stream", null],
        [2, "text/plain", null],
        [2, "text/plain", "e.txt"],
        [2, "application/octet-stream", "streamed"],
      ],
    );
    const listed: string[] = [];
    for await (const file of files.list(id, { limit: 2 })) listed.push(file.id);
    assert.deepEqual(listed, uploads.map((file) => file.id).toReversed());
  });

  test("reaches a session by its external id, and a handle stays with one session", async () => {
    const { client, id } = await connected(declareActor(async () => null).run);
    const externalId = `files of ${id}`;
    const { id: session } = await client.sessions
      .create({ actor: "nobody", externalId })
      .catch(() => ({ id }));
    const handle = client.sessions.open(session);
    const file = await handle.files.upload("text", { name: "a.txt", mediaType: "text/plain" });
    assert.equal((await handle.files.get(file.id)).name, "a.txt");
    assert.equal(Buffer.from(await handle.files.read(file.id)).toString(), "text");
    assert.equal((await collected(await handle.files.stream(file.id))).toString(), "text");
    assert.deepEqual((await handle.files.list().page()).items, [file]);
  });

  test("rejects with the class of the refusal, also where a stream would begin", async () => {
    const { client, id } = await connected(declareActor(async () => null).run);
    const { files } = client.sessions;
    const absent = "file_00000000000000000000000000";
    await assert.rejects(files.get(id, absent), NotFoundError);
    await assert.rejects(files.read(id, absent), NotFoundError);
    await assert.rejects(files.stream(id, absent), NotFoundError);
    await assert.rejects(files.upload(id, "x", { name: "a/b" }), BadRequestError);
    const { publicAccessToken } = await client.publicAccessTokens.create({
      type: "session.files.read",
      session: id,
    });
    const { server } = await testWorker();
    const page = new Client({ url: server.url, apiKey: publicAccessToken, maxRetries: 0 });
    await assert.rejects(page.sessions.files.upload(id, "x"), (error) => error instanceof Error);
    await client.sessions.close(id);
    const late = await files.upload(id, "x").catch((error: unknown) => error);
    assert.ok(late instanceof ConflictError && late.code === "session_closed", String(late));
    assert.ok(!(late instanceof PermissionError));
  });
});

describe("session.file()", () => {
  test("gives the code of a turn a file with the run's own credential, also in a step and in a replay", async () => {
    const read: unknown[] = [];
    const { run, start } = declareActor(async ({ file, input }, { step }) => {
      const { data } = (await input.receive()) as { data: { file: string } };
      const { name, mediaType, sizeBytes, ...opened } = await file(data.file);
      read.push(name);
      const bytes = await opened.bytes();
      const streamed = await step("stream", async () =>
        digestOf(await collected(await (await file(data.file)).stream())),
      );
      return { name, mediaType, sizeBytes, same: digestOf(bytes) === streamed, streamed };
    });
    const first = start();
    await first.parked();
    const { client, id } = await connected(run);
    const { id: file } = await client.sessions.files.upload(id, PICTURE, {
      name: "p.png",
      mediaType: "image/png",
    });
    assert.equal(first.suspend(), true);
    await first.ended;
    await run.send({ file });
    assert.deepEqual(outputOf(await start().ended), {
      ...{ name: "p.png", mediaType: "image/png", sizeBytes: PICTURE.length },
      ...{ same: true, streamed: digestOf(PICTURE) },
    });
    assert.deepEqual(read, ["p.png"]);
  });

  test("is also of what a run that still finishes uploads, when the session has ended", async () => {
    const { run, start } = declareActor(async ({ id, file, input }, { client }) => {
      await input.receive();
      const made = await client.sessions.files.upload(id, "made late", { name: "late.txt" });
      return [made.name, new TextDecoder().decode(await (await file(made.id)).bytes())];
    });
    const first = start();
    await first.parked();
    const { client, id } = await connected(run);
    await client.sessions.close(id);
    await assert.rejects(client.sessions.files.upload(id, "from outside"), ConflictError);
    assert.deepEqual(outputOf(await first.ended), ["late.txt", "made late"]);
  });

  test("rejects for a file that the session has not", async () => {
    const { start } = declareActor(async ({ file }) =>
      file("file_00000000000000000000000000").catch((error: unknown) => error instanceof NotFoundError),
    );
    assert.equal(outputOf(await start().ended), true);
  });

  test("is the same in process, where the test uploads", async () => {
    const reader = actor({
      id: "file-reader",
      run: async ({ id, file, input, output }, { client }) => {
        for await (const { data } of input) {
          const { name, mediaType, bytes, stream } = await file(data as string);
          const text = new TextDecoder().decode(await bytes());
          assert.equal((await collected(await stream())).toString(), text);
          const { id: copy } = await client.sessions.files.upload(id, text.toUpperCase(), { name: "copy" });
          await output.append({ name, mediaType, text, copy });
        }
        return (await client.sessions.files.list(id).page()).items.map((one) => one.name);
      },
    });
    const session = openSession(reader);
    const { id, sha256 } = await session.upload("hello", { name: "a.txt", mediaType: "text/plain" });
    assert.equal(sha256, digestOf(Buffer.from("hello")));
    assert.equal((await session.upload("hello", { name: "a.txt", mediaType: "text/plain" })).id, id);
    await session.send(id);
    const { copy, ...data } = (await session.next()).data as { copy: string };
    assert.deepEqual(data, { name: "a.txt", mediaType: "text/plain", text: "hello" });
    assert.notEqual(copy, id);
    await session.close();
    assert.deepEqual((await session.ended).output, ["copy", "a.txt"]);
    await assert.rejects(session.upload("late"), ConflictError);
  });
});

import assert from "node:assert/strict";
import { chmod, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { DomainError } from "../../src/domain-error.ts";
import { digestOf } from "../support/api-server.ts";
import { makeTestFolder } from "../support/test-folder.ts";

describe("blobs on disk", () => {
  let dir: string;
  before(async () => {
    dir = await makeTestFolder();
  });
  after(() => rm(dir, { recursive: true }));

  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield text(part);
  }
  const uploads = (): Promise<string[]> => readdir(path.join(dir, "uploads"));

  async function contentOf(blobs: ReturnType<typeof createDiskBlobs>, digest: string): Promise<string> {
    const blob = await blobs.read(digest);
    assert.ok(blob !== null);
    const parts: Uint8Array[] = [];
    for await (const part of blob.bytes) parts.push(part);
    const content = Buffer.concat(parts);
    assert.equal(content.length, blob.sizeBytes);
    return content.toString();
  }

  test("are read as they were put, once or at the same time", async () => {
    const blobs = createDiskBlobs(dir);
    const digest = digestOf(text("hello world"));
    assert.equal(await blobs.has(digest), false);
    assert.equal(await blobs.read(digest), null);
    const sizes = await Promise.all(
      Array.from({ length: 4 }, () => blobs.put(digest, chunks("hello ", "world"), 100)),
    );
    assert.deepEqual(sizes, [11, 11, 11, 11]);
    assert.equal(await blobs.has(digest), true);
    assert.equal(await contentOf(blobs, digest), "hello world");
    const empty = digestOf(text(""));
    assert.equal(await blobs.put(empty, chunks(), 100), 0);
    assert.equal(await contentOf(blobs, empty), "");
    assert.deepEqual(await uploads(), []);
  });

  test("refuse other bytes, too many bytes and a broken upload, and leave nothing", async () => {
    const blobs = createDiskBlobs(dir);
    const digest = digestOf(text("right"));
    await assert.rejects(blobs.put(digest, chunks("wrong"), 100), (error) => {
      assert.ok(error instanceof DomainError && error.code === "invalid_request");
      assert.ok(error.message.includes(digest) && error.message.includes(digestOf(text("wrong"))));
      return true;
    });
    await assert.rejects(
      blobs.put(digest, chunks("ri", "ght"), 4),
      (error) => error instanceof DomainError && error.code === "payload_too_large",
    );
    const broken = new Error("hung up");
    await assert.rejects(
      blobs.put(
        digest,
        (async function* () {
          yield text("ri");
          throw broken;
        })(),
        100,
      ),
      (error) => error === broken,
    );
    assert.equal(await blobs.has(digest), false);
    assert.deepEqual(await uploads(), []);
  });

  test("give an error, never wrong bytes, when a file is damaged; putting it again mends it", async () => {
    const blobs = createDiskBlobs(dir);
    const digest = digestOf(text("precious"));
    await blobs.put(digest, chunks("precious"), 100);
    const file = path.join(dir, digest.slice(0, 2), digest.slice(2));
    assert.equal((await readFile(file)).toString(), "precious");
    await chmod(file, 0o600);
    await writeFile(file, "specious");
    await assert.rejects(blobs.read(digest), /damaged/);
    await blobs.put(digest, chunks("precious"), 100);
    assert.equal(await contentOf(blobs, digest), "precious");
  });

  test("remove uploads that nobody has written to for a day", async () => {
    const old = path.join(dir, "uploads", "old");
    const young = path.join(dir, "uploads", "young");
    await writeFile(old, "");
    await writeFile(young, "");
    const dayBefore = new Date(Date.now() - 25 * 3_600_000);
    await utimes(old, dayBefore, dayBefore);
    await createDiskBlobs(dir).put(digestOf(text("x")), chunks("x"), 100);
    assert.deepEqual(await uploads(), ["young"]);
  });
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { openS3Blobs } from "../../src/adapters/s3-blobs.ts";
import type { BlobStore } from "../../src/core/blobs/blob.ts";
import { DomainError } from "../../src/domain-error.ts";
import { digestOf } from "../support/api-server.ts";
import { chunks, contentOf, text } from "../support/blob-content.ts";
import { startS3Server } from "../support/s3-server.ts";
import { makeTestFolder } from "../support/test-folder.ts";

type Place = {
  /** A store of the same place, as a server that starts has it. */
  blobs: BlobStore;
  damage(digest: string, bytes: Uint8Array): Promise<void>;
  /** How much lies there, what is not whole too. */
  count(): Promise<number>;
  close(): Promise<void>;
};

async function onDisk(): Promise<Place> {
  const dir = await makeTestFolder();
  return {
    blobs: createDiskBlobs(dir),
    damage: async (digest, bytes) => {
      const file = path.join(dir, digest.slice(0, 2), digest.slice(2));
      await chmod(file, 0o600);
      await writeFile(file, bytes);
    },
    count: async () => {
      const found = await readdir(dir, { recursive: true, withFileTypes: true });
      return found.filter((entry) => entry.isFile()).length;
    },
    close: () => rm(dir, { recursive: true }),
  };
}

async function inBucket(): Promise<Place> {
  const server = await startS3Server();
  const blobs = (await openS3Blobs(server.options))("folder");
  const keyOf = (digest: string): string => `test/folder/${digest.slice(0, 2)}/${digest.slice(2)}`;
  return {
    blobs,
    damage: async (digest, bytes) => {
      assert.ok(server.objects.has(keyOf(digest)));
      server.objects.set(keyOf(digest), Buffer.from(bytes));
    },
    count: async () => server.objects.size,
    close: () => server[Symbol.asyncDispose](),
  };
}

/** In chunks of a length that differs from content to content; what was asked for before is overwritten. */
async function* passed(content: Buffer, seed: number): AsyncGenerator<Uint8Array> {
  const lengths = [65_536, 1, 700_000, 3_333 + seed];
  for (let at = 0, i = seed; at < content.length; i += 1) {
    const chunk = Buffer.from(content.subarray(at, at + (lengths[i % lengths.length] as number)));
    at += chunk.length;
    yield chunk;
    chunk.fill(0);
  }
}

for (const [name, open] of [
  ["on disk", onDisk],
  ["in a bucket", inBucket],
] as const)
  suite(`blobs ${name}`, () => {
    let place: Place;
    let blobs: BlobStore;
    before(async () => {
      place = await open();
      ({ blobs } = place);
    });
    after(() => place.close());

    test("are read as they were put, once or at the same time", async () => {
      const digest = digestOf(text("hello world"));
      assert.equal(await blobs.has(digest), false);
      assert.equal(await blobs.read(digest), null);
      assert.equal(await blobs.load(digest), null);
      const sizes = await Promise.all(
        Array.from({ length: 4 }, () => blobs.put(digest, chunks("hello ", "world"), 100)),
      );
      assert.deepEqual(sizes, [11, 11, 11, 11]);
      assert.equal(await blobs.has(digest), true);
      assert.equal(await contentOf(blobs, digest), "hello world");
      assert.equal((await blobs.load(digest))?.toString(), "hello world");
      const empty = digestOf(text(""));
      assert.equal(await blobs.put(empty, chunks(), 100), 0);
      assert.equal(await contentOf(blobs, empty), "");
      assert.equal(await place.count(), 2);
    });

    test("are put in chunks of any size, each of which is gone once the next is asked for", async () => {
      const contents = Array.from({ length: 4 }, (_, i) => randomBytes(1_500_000 + i));
      const digests = contents.map(digestOf);
      await Promise.all(
        contents.map((content, i) => blobs.put(digests[i] as string, passed(content, i), content.length)),
      );
      for (const [i, content] of contents.entries())
        assert.ok((await blobs.load(digests[i] as string))?.equals(content));
      for (const digest of digests) await blobs.remove(digest);
    });

    test("refuse other bytes, too many bytes and a broken upload, and leave nothing", async () => {
      const before = await place.count();
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
      assert.equal(await place.count(), before);
      await assert.rejects(blobs.has("../escape"), TypeError);
    });

    test("give an error, never wrong bytes, when they are damaged; putting them again mends it", async () => {
      const digest = digestOf(text("precious"));
      await blobs.put(digest, chunks("precious"), 100);
      await place.damage(digest, text("specious"));
      await assert.rejects(blobs.read(digest), /damaged/);
      await blobs.put(digest, chunks("precious"), 100);
      assert.equal(await contentOf(blobs, digest), "precious");
    });

    test("are removed, also when they are not there", async () => {
      const digest = digestOf(text("short"));
      await blobs.put(digest, chunks("short"), 100);
      await blobs.remove(digest);
      assert.equal(await blobs.has(digest), false);
      await blobs.remove(digest);
    });
  });

import assert from "node:assert/strict";
import { existsSync, readlinkSync } from "node:fs";
import { mkdir, open, readdir, rm, utimes, writeFile, type FileHandle } from "node:fs/promises";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { digestOf } from "../support/api-server.ts";
import { chunks, text } from "../support/blob-content.ts";
import { makeTestFolder } from "../support/test-folder.ts";

test("uploads that nobody has written to for a day are removed", async (t) => {
  const dir = await makeTestFolder();
  t.after(() => rm(dir, { recursive: true }));
  const uploads = path.join(dir, "uploads");
  const old = path.join(uploads, "old");
  await mkdir(uploads);
  await writeFile(old, "");
  await writeFile(path.join(uploads, "young"), "");
  const dayBefore = new Date(Date.now() - 25 * 3_600_000);
  await utimes(old, dayBefore, dayBefore);
  await createDiskBlobs(dir).put(digestOf(text("x")), chunks("x"), 100);
  assert.deepEqual(await readdir(uploads), ["young"]);
});

/** What Node is asked to sync, in order, as paths within the folder, and whether the blob is in its place then. */
async function recordSyncs(t: TestContext, dir: string, place: string): Promise<() => string[]> {
  const handle = await open(dir);
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const synced: string[] = [];
  const sync = prototype.sync;
  t.mock.method(prototype, "sync", async function (this: FileHandle) {
    const name = path.relative(dir, readlinkSync(`/proc/self/fd/${this.fd}`));
    await sync.call(this);
    const what = name.startsWith("uploads/") ? "the upload" : name === "" ? "." : name;
    synced.push(`${what}, ${existsSync(place) ? "placed" : "not placed"}`);
  });
  return () => synced.splice(0);
}

test("a blob is synced before it is placed, and each folder that names it before it is acknowledged", async (t) => {
  const dir = path.join(await makeTestFolder(), "inner");
  t.after(() => rm(path.dirname(dir), { recursive: true }));
  await mkdir(dir);
  const digest = digestOf(text("x"));
  const [folder, place] = [digest.slice(0, 2), path.join(dir, digest.slice(0, 2), digest.slice(2))];
  const synced = await recordSyncs(t, dir, place);
  const blobs = createDiskBlobs(dir);
  const put = () => blobs.put(digest, chunks("x"), 100);
  const stored = [`the upload, not placed`, `., not placed`, `${folder}, placed`];

  await put();
  assert.deepEqual(synced(), [`., not placed`, ...stored], "the folder of uploads is new as well");
  await blobs.remove(digest);
  await put();
  assert.deepEqual(synced(), [`the upload, not placed`, `${folder}, placed`], "what it has synced stays so");
  await rm(path.join(dir, folder), { recursive: true });
  await put();
  assert.deepEqual(synced(), stored, "a folder that is made again is synced again");
});

test("a folder whose maker may not have lived to sync it is synced", async (t) => {
  const dir = await makeTestFolder();
  t.after(() => rm(dir, { recursive: true }));
  const digest = digestOf(text("x"));
  const folder = digest.slice(0, 2);
  await mkdir(path.join(dir, folder));
  await mkdir(path.join(dir, "uploads"));
  const synced = await recordSyncs(t, dir, path.join(dir, folder, digest.slice(2)));
  await createDiskBlobs(dir).put(digest, chunks("x"), 100);
  assert.deepEqual(synced(), [
    `., not placed`,
    `the upload, not placed`,
    `., not placed`,
    `${folder}, placed`,
  ]);
});

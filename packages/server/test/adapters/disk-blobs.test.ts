import assert from "node:assert/strict";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
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

import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openBlobCache } from "../src/workspaces/blob-cache.ts";
import { cleanUp } from "./support/clean-up.ts";

const KIB = 1024;
const blob = (bytes: number) => {
  const content = randomBytes(bytes);
  return { content, digest: hash("sha256", content) };
};

async function openIn(t: TestContext, maxBytes: number) {
  const folder = await mkdtemp(join(tmpdir(), "keelson-cache-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  let now = 0;
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const clock = { now: () => (now += 1_000), monotonic: () => 0 };
  return { folder, open: () => openBlobCache(folder, { maxBytes, clock, logger }) };
}

test("what was used longest ago goes first, and the bound holds over restarts", async (t) => {
  const { folder, open } = await openIn(t, 3 * KIB);
  const cache = await open();
  const [a, b, c, d] = [blob(KIB), blob(KIB), blob(KIB), blob(KIB)] as const;
  for (const { digest, content } of [a, b, c]) await cache.put(digest, content);
  assert.deepEqual(await cache.get(a.digest), a.content);
  await cache.put(d.digest, d.content);
  assert.equal(await cache.get(b.digest), null);
  assert.deepEqual(await cache.get(c.digest), c.content);
  assert.equal((await readdir(folder)).length, 3);
  const again = await open();
  assert.deepEqual(await again.get(d.digest), d.content);
  await again.put(b.digest, b.content);
  assert.equal((await readdir(folder)).length, 3);
});

test("wrong bytes are neither taken nor given", async (t) => {
  const { folder, open } = await openIn(t, 1024 * KIB);
  const cache = await open();
  const { content, digest } = blob(KIB);
  await cache.put(digest, randomBytes(KIB));
  assert.equal(await cache.get(digest), null);
  await cache.put(digest, content);
  content[7]! ^= 1;
  await writeFile(join(folder, digest), content);
  assert.equal(await cache.get(digest), null);
  assert.deepEqual(await readdir(folder), []);
});

// The first start on a disk that has no room for a database.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { mountSmallDisk } from "../../server/test/crash/support/full-disk.ts";
import { startDatabase } from "../src/up/start-database.ts";

test("names the folder, what is free, and what is needed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-room-"));
  const disk = await mountSmallDisk(folder, 32 << 20);
  t.after(async () => {
    disk?.unmount();
    await rm(folder, { recursive: true, force: true });
  });
  if (disk === null) return t.skip("needs the right to mount a small disk");
  const dataDir = join(folder, "data");
  await assert.rejects(
    startDatabase(dataDir, null, () => undefined),
    (error: Error) =>
      error.message.startsWith(`The disk of ${dataDir} has `) &&
      /has \d+ MiB free, and the first start needs 128 MiB: make room/.test(error.message),
  );
  assert.deepEqual(await readdir(dataDir), [], "nothing was begun");
});

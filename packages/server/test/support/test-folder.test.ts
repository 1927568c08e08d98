import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { mountSmallDisk } from "../crash/support/full-disk.ts";
import { makeTestFolder, removeTestFolder } from "./test-folder.ts";

test(
  "a folder is removed although a killed test left disks mounted in it",
  { timeout: 10_000 },
  async (t) => {
    const folder = await makeTestFolder();
    const disk = await mountSmallDisk(path.join(folder, "one/two/three/four"), 1 << 20);
    if (disk === null) t.skip("only root can mount a disk");
    else await mountSmallDisk(path.join(disk.folder, "five"), 1 << 20);
    await mkdir(path.join(folder, "one/two/beside"), { recursive: true });
    await removeTestFolder(folder);
    assert.ok(!existsSync(folder));
  },
);

// The data folder on a disk without room: runs go back saying which folder it is, and go on when it has room again.

import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fill, mountSmallDisk } from "../../server/test/crash/support/full-disk.ts";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";

test("a run whose bundle cannot be kept is handed back before it began, with the folder that is full", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-full-"));
  const disk = await mountSmallDisk(folder, 1 << 20);
  const dataDir = join(folder, "data");
  cleanUp(t, async () => {
    disk?.unmount();
    await removeTestFolder(folder);
  });
  if (disk === null) return t.skip("needs the right to mount a small disk");
  const { server } = await startTestAgent(t, { dataDir });
  const digest = server.putBundle(bundleOf({ main: "return payload;" }, `/*${"x".repeat(65_536)}*/`));
  const ballast = await fill(folder);
  const held = server.enqueue({ digest });
  const release = await held.released;
  assert.deepEqual([release.outcome, release.failure?.kind], ["rejected", "lease_lost"]);
  assert.match(release.failure?.message ?? "", /disk is full/);
  assert.ok(release.failure?.message.includes(join(dataDir, "bundles")), release.failure?.message);
  assert.ok(!held.operations.some(({ kind }) => kind === "start"));
  const checked = await server.check(digest);
  assert.equal(checked.status, "interrupted", JSON.stringify(checked));
  await ballast.free();
  assert.equal((await server.enqueue({ digest }).released).outcome, "succeeded");
});

// Workspaces on agents of their own: prepared, committed, lost with their agent, and refused when bytes are wrong.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { mountSmallDisk } from "./support/full-disk.ts";
import { until } from "../support/until.ts";
import { filesOf, startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

/** Long enough for a restart of an agent, and waited for when one stays away. */
const LEASE_DURATION = "6s";

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ leaseDuration: LEASE_DURATION, hasWitness: true })));
after(() => site?.stop());

/** The stored pieces and manifests. */
async function storedBlobs(): Promise<string[]> {
  const root = path.join(site.dir, "data");
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && /^[0-9a-f]{62}$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

test("what changed is committed when a workspace stops and when its agent drains", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.write(id, "a/b.txt", "hello");
  const connected = await site.act(id, "connect");
  assert.equal(connected.body.materialization.status, "live");
  const files = await filesOf(agent);
  assert.equal(await readFile(path.join(files, "a/b.txt"), "utf8"), "hello");
  await writeFile(path.join(files, "a/c.txt"), "world");
  const stopped = await site.act(id, "stop");
  assert.equal(stopped.body.materialization.status, "stopped");
  assert.equal(await site.read(id, "a/c.txt"), "world");
  await until("the folder is gone", 10_000, async () => (await readdir(agent.folder)).length === 0);

  await site.act(id, "connect");
  await writeFile(path.join(await filesOf(agent), "d.txt"), "drained");
  agent.signal("SIGTERM");
  await agent.ended();
  assert.equal((await site.get(id)).materialization.status, "stopped");
  assert.deepEqual(await site.files(id), ["directory a", "file d.txt"]);
  const versions = await site.versions(id);
  assert.deepEqual(
    versions.map(({ cause }) => cause.kind),
    ["stop", "stop", "write", "create"],
  );
  assert.deepEqual(await readdir(agent.folder), []);
});

test("a data folder that only its owner may enter is as good as any", async () => {
  const agents = path.join(site.dir, "agents");
  await chmod(agents, 0o700);
  const agent = await site.startAgent();
  const { id } = await site.create();
  const ended = await site.exec(id, "echo made > made; pwd");
  assert.deepEqual([ended.exit_code, ended.err, ended.version_id === null], [0, "", false]);
  assert.equal(await site.read(id, "made"), "made\n");
  await site.act(id, "stop");
  await agent.kill();
  await chmod(agents, 0o755);
});

test("of two agents one gets a workspace, and the other the next one", async () => {
  const [one, other] = [await site.startAgent(), await site.startAgent()];
  const { id } = await site.create();
  await site.act(id, "connect");
  const held = await Promise.all([one, other].map(async ({ folder }) => (await readdir(folder)).length));
  assert.deepEqual(
    held.toSorted((a, b) => a - b),
    [0, 1],
  );
  await site.act(id, "stop");
  await Promise.all([one.kill(), other.kill()]);
});

test("an agent that stays away loses the workspace, and commits what had changed when it comes back", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.write(id, "kept.txt", "before");
  await site.act(id, "connect");
  await writeFile(path.join(await filesOf(agent), "changed.txt"), "not committed yet");
  await agent.kill();
  const failed = await site.untilStatus(id, "failed");
  assert.match(failed.materialization.error.message, /worker was lost/);
  assert.deepEqual(await site.files(id), ["file kept.txt"]);
  await agent.start();
  await site.untilStatus(id, "stopped");
  assert.equal(await site.read(id, "changed.txt"), "not committed yet");
  await until("the folder is gone", 10_000, async () => (await readdir(agent.folder)).length === 0);
  const { body } = await site.act(id, "connect");
  assert.equal(body.materialization.status, "live");
  assert.deepEqual(await readdir(await filesOf(agent)), ["changed.txt", "kept.txt"]);
  await site.act(id, "stop");
  await agent.kill();
});

test("a missing or damaged blob is refused, and no wrong byte is written", async () => {
  const agent = await site.startAgent();
  const before = new Set(await storedBlobs());
  const damaged = await site.create();
  await site.write(damaged.id, "f", "the content that is damaged");
  const missing = await site.create();
  await site.write(missing.id, "f", "the content that goes missing");
  for (const blob of await storedBlobs()) {
    if (before.has(blob)) continue;
    const bytes = await readFile(blob);
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(blob, bytes);
  }
  await site.act(damaged.id, "materialize");
  const { materialization } = await site.untilStatus(damaged.id, "failed", 40_000);
  assert.match(materialization.error.message, /blob [0-9a-f]{64}/);
  for (const blob of await storedBlobs()) if (!before.has(blob)) await rm(blob);
  await site.act(missing.id, "materialize");
  const failed = await site.untilStatus(missing.id, "failed", 40_000);
  assert.match(failed.materialization.error.message, /blob [0-9a-f]{64}/);
  await until("the folders are gone", 10_000, async () => (await readdir(agent.folder)).length === 0);
  await agent.kill();
});

test("a commit whose earlier pieces are gone from the server stores them again", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.exec(id, "echo kept > kept");
  const workspace = decodeId("ws", id);
  const gone = await site.db.query<{ digest: Buffer }>(sql`
    DELETE FROM workspace_blobs WHERE workspace_id = ${workspace} RETURNING digest`);
  await site.db.query(sql`DELETE FROM blobs WHERE digest = ANY (${gone.map(({ digest }) => digest)}::bytea[])
    AND NOT EXISTS (SELECT 1 FROM workspace_blobs n WHERE n.digest = blobs.digest)`);
  assert.ok(gone.length > 0);
  const ended = await site.exec(id, "echo more > more");
  assert.deepEqual([ended.error, ended.version_id === null], [null, false]);
  const [needed] = await site.db.query<{ count: string }>(sql`
    SELECT count(*) FROM workspace_blobs WHERE workspace_id = ${workspace}`);
  assert.ok(Number(needed!.count) > 0);
  assert.deepEqual([await site.read(id, "kept"), await site.read(id, "more")], ["kept\n", "more\n"]);
  await site.act(id, "stop");
  await agent.kill();
});

test("a commit that finds the server's disk full keeps the files until there is room, whoever restarts", async (t) => {
  // A site of its own: blobs that are stored already would be out of sight.
  await site.stop();
  site = await startWorkspaceSite({ leaseDuration: LEASE_DURATION });
  const environment = decodeId("env", site.credentials.environment_id)!;
  const disk = await mountSmallDisk(path.join(site.dir, "data", "workspaces", environment), 6 << 20);
  if (disk === null) return t.skip("needs the right to mount a small disk");
  try {
    const agent = await site.startAgent();
    const { id } = await site.create();
    await site.write(id, "kept.txt", "before");
    await site.act(id, "connect");
    const { current_version_id: last } = await site.get(id);
    await writeFile(path.join(await filesOf(agent), "large"), randomBytes(8 << 20));
    await site.act(id, "stop");
    const kept = await site.untilStatus(id, "uncommitted", 60_000);
    assert.equal(kept.materialization.dirty, true);
    assert.match(kept.materialization.error.message, /disk of the server's blob store is full/);
    assert.equal(kept.status_reason.kind, "uncommitted");
    assert.equal(kept.current_version_id, last);
    assert.equal((await site.versions(id)).length, 2);
    // Nothing begins with the last version as if nothing were lost.
    for (const verb of ["connect", "materialize"] as const) {
      const refused = await site.act(id, verb);
      assert.deepEqual([refused.status, refused.body.error.code], [409, "workspace_busy"]);
    }
    await agent.kill();
    assert.deepEqual((await readdir(await filesOf(agent))).toSorted(), ["kept.txt", "large"]);
    await agent.start();
    await until("the agent has it again", 20_000, async () => {
      const { status_reason } = await site.get(id);
      return status_reason?.details.worker_heard === true;
    });
    assert.ok((await readdir(await filesOf(agent))).includes("large"));
    execFileSync("mount", ["-o", `remount,size=${64 << 20}`, disk.folder]);
    await site.act(id, "recover");
    const stopped = await site.untilStatus(id, "stopped", 60_000);
    assert.deepEqual([stopped.materialization.dirty, stopped.materialization.error], [false, null]);
    assert.deepEqual(await site.files(id), ["file kept.txt", "file large"]);
    await until("the folder is gone", 10_000, async () => (await readdir(agent.folder)).length === 0);
    await agent.kill();
  } finally {
    disk.unmount();
  }
});

// Files that a worker could not commit: kept until a version has them or somebody discards them, whoever is killed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { mountSmallDisk } from "./support/full-disk.ts";
import { fewOf, newSeed } from "../support/seeded-random.ts";
import { letPass, until } from "../support/until.ts";
import {
  filesOf,
  startWorkspaceSite,
  type WorkspaceAgent,
  type WorkspaceSite,
} from "./support/workspace-site.ts";

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ servers: 2, leaseDuration: "6s" })));
after(() => site?.stop());

/** Makes what no tree can have: a name that is longer than any may be once its bytes are escaped. */
const UNFIT = String.raw`echo lost > "$(printf '\377%.0s' $(seq 100))"`;

/** A workspace whose agent holds files that no version has. */
async function startUncommitted(): Promise<{ id: string; agent: WorkspaceAgent; folder: string }> {
  const agent = await site.startAgent();
  const { id } = await site.create();
  const ended = await site.exec(id, `echo kept > kept; ${UNFIT}`);
  assert.deepEqual([ended.exit_code, ended.err], [0, ""]);
  const [version] = await site.versions(id);
  assert.equal(version.left_out_count, 1);
  assert.equal(version.left_out[0].reason, "name");
  assert.equal(await site.read(id, "kept"), "kept\n");
  const stopped = await site.act(id, "stop");
  assert.deepEqual([stopped.status, stopped.body.materialization.status], [202, "uncommitted"]);
  assert.equal(stopped.body.materialization.dirty, true);
  assert.match(stopped.body.materialization.error.message, /too long once its bytes are escaped/);
  return { id, agent, folder: await filesOf(agent) };
}

/** Whether that file is still there. */
const hasBytes = (folder: string): boolean => readdirSync(folder, { encoding: "buffer" }).length === 2;

const untilEmpty = (agent: WorkspaceAgent): Promise<void> =>
  until("the folder is gone", 20_000, async () => (await readdir(agent.folder)).length === 0);

test("what no version can have is kept, and no server lets anyone go on as if it were not there", async () => {
  const { id, agent, folder } = await startUncommitted();
  for (const { url } of site.servers) {
    const at = `/api/workspaces/${id}`;
    const bodies = { "/connect": {}, "/materialize": {}, "/execs": { command: ["true"] } };
    for (const [route, body] of Object.entries(bodies)) {
      const refused = await site.call(url, "POST", `${at}${route}`, { body });
      assert.deepEqual([refused.status, refused.body.error?.code], [409, "workspace_busy"], route);
      assert.match(refused.body.error.message, /recover/);
    }
    const refused = await site.call(url, "PUT", `${at}/files/content?path=a`, { bytes: Buffer.from("a") });
    assert.deepEqual([refused.status, refused.body.error.code], [409, "workspace_busy"]);
  }
  const { status_reason: reason } = await site.get(id);
  assert.equal(reason.kind, "uncommitted");
  const refused = await site.act(id, "discard", {});
  assert.equal(refused.status, 400);
  assert.ok(hasBytes(folder));
  const discarded = await site.act(id, "discard", { confirm: true });
  assert.deepEqual([discarded.status, discarded.body.materialization.status], [200, "stopped"]);
  assert.deepEqual([discarded.body.materialization.dirty, discarded.body.status_reason], [false, null]);
  await untilEmpty(agent);
  assert.equal((await site.act(id, "discard", { confirm: true })).body.error.code, "invalid_state");
  assert.equal((await site.act(id, "recover")).body.error.code, "invalid_state");
  const live = await site.act(id, "connect");
  assert.equal(live.body.materialization.status, "live");
  assert.equal((await site.act(id, "stop")).body.materialization.status, "stopped");
  await agent.kill();
});

test("a lost agent's files are waited for however long, and are taken up by another worker on its folder", async () => {
  const { id, agent, folder } = await startUncommitted();
  await agent.kill();
  const before = (await site.get(id)).materialization.worker_id;
  // Recovering finds nobody, and gives nothing up.
  const recovering = await site.act(id, "recover");
  assert.equal(recovering.status, 202);
  assert.equal((await site.untilStatus(id, "uncommitted")).materialization.dirty, true);
  await until("the worker is missed", 30_000, async () => {
    const { status_reason: reason } = await site.get(id);
    return reason.details.worker_heard === false && /has not reported/.test(reason.message);
  });
  assert.ok(hasBytes(folder));
  // The token of its identity runs out after an hour: the next process is a worker of its own.
  await rm(path.join(path.dirname(agent.folder), "identity.json"));
  for (const name of readdirSync(folder, { encoding: "buffer" }))
    if (name.length === 100) rmSync(Buffer.concat([Buffer.from(`${folder}/`), name]));
  await agent.start();
  const stopped = await site.untilStatus(id, "stopped", 60_000);
  assert.notEqual(stopped.materialization.worker_id, before);
  assert.deepEqual(await site.files(id), ["file kept"]);
  await untilEmpty(agent);
  await agent.kill();
});

test("what is discarded while its agent is away goes on without it, and is removed when that comes back", async () => {
  const { id, agent, folder } = await startUncommitted();
  await agent.kill();
  assert.equal((await site.act(id, "discard", { confirm: true })).status, 200);
  assert.ok(hasBytes(folder));
  const other = await site.startAgent();
  assert.equal((await site.exec(id, "cat kept")).out, "kept\n");
  await agent.start();
  await untilEmpty(agent);
  await site.act(id, "stop");
  await Promise.all([agent.kill(), other.kill()]);
});

test("a workspace that is deleted gives up what could not be committed", async () => {
  const { id, agent } = await startUncommitted();
  const { body } = await site.call(site.url, "DELETE", `/api/workspaces/${id}`);
  assert.equal(body.status, "deleted");
  await untilEmpty(agent);
  await agent.kill();
});

test("the database holds at most one that may have files, and says why of each that is uncommitted", async () => {
  const { id, agent } = await startUncommitted();
  const workspace = decodeId("ws", id);
  await assert.rejects(
    site.db.query(sql`UPDATE materializations SET dirty = false WHERE workspace_id = ${workspace}`),
    /materializations_uncommitted_check/,
  );
  await assert.rejects(
    site.db.query(sql`UPDATE materializations SET error = NULL WHERE workspace_id = ${workspace}`),
    /materializations_uncommitted_check/,
  );
  await assert.rejects(
    site.db.query(sql`
      INSERT INTO materializations (environment_id, id, workspace_id, worker_group_id, epoch, required_isolation, base_version_id,
        active_at, created_at, updated_at)
      SELECT environment_id, gen_random_uuid(), workspace_id, worker_group_id, epoch, required_isolation, base_version_id,
        active_at, created_at, updated_at FROM materializations WHERE workspace_id = ${workspace}`),
    /materializations_live/,
  );
  await site.act(id, "discard", { confirm: true });
  await untilEmpty(agent);
  await agent.kill();
});

test("whoever is killed while a commit cannot succeed, the bytes are in quarantine, then in a version", async (t) => {
  // A site of its own: blobs that are stored already would be out of sight.
  await site.stop();
  site = await startWorkspaceSite({ leaseDuration: "6s" });
  const environment = decodeId("env", site.credentials.environment_id)!;
  const blobs = path.join(site.dir, "data", "workspaces", environment);
  const disk = await mountSmallDisk(blobs, 4 << 20);
  if (disk === null) return t.skip("needs the right to mount a small disk");
  const agent = await site.startAgent();
  try {
    const { id } = await site.create();
    await site.act(id, "connect");
    const folder = await filesOf(agent);
    const bytes = randomBytes(8 << 20);
    await writeFile(path.join(folder, "large"), bytes);
    const isThere = async (): Promise<void> => assert.ok((await readdir(folder)).includes("large"));
    const stopping = site.act(id, "stop").catch(() => undefined);
    await site.untilStatus(id, "stopping");
    // Killed in the middle of the commit, again and again at other places of it and of the quarantine.
    for (const pauseMs of fewOf([20, 300, 900, 1_500], 2, newSeed())) {
      await agent.kill();
      await isThere();
      await agent.start();
      await letPass(pauseMs, "the agent is killed somewhere in its work");
      await isThere();
    }
    await stopping;
    await site.untilStatus(id, "uncommitted", 60_000);
    const [server] = site.servers;
    await server!.kill();
    await isThere();
    await server!.start();
    await isThere();
    execFileSync("mount", ["-o", `remount,size=${64 << 20}`, disk.folder]);
    await site.act(id, "recover");
    await site.untilStatus(id, "stopped", 60_000);
    assert.deepEqual(await site.files(id), ["file large"]);
    await untilEmpty(agent);
  } finally {
    disk.unmount();
    await agent.kill();
  }
});

// A stop that reaches an agent while that takes up what an earlier process of it left: nothing of it is lost or left behind.

import assert from "node:assert/strict";
import { readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { mountSmallDisk } from "./support/full-disk.ts";
import { until } from "../support/until.ts";
import { startStepProxy, type StepProxy } from "./support/step-proxy.ts";
import {
  filesOf,
  startWorkspaceSite,
  type WorkspaceAgent,
  type WorkspaceSite,
} from "./support/workspace-site.ts";

let site: WorkspaceSite;
let proxy: StepProxy;
let agent: WorkspaceAgent;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: "15s" });
  proxy = await startStepProxy(() => site.url);
  const named = site.agent({
    ...{ name: "agent 1", server: site.servers[0]!, capacity: 2 },
    env: { KEELSON_URL: proxy.url },
  });
  const folder = path.join(site.dir, "agents", "agents", "agent-1-1", "workspaces");
  agent = Object.defineProperty(named, "folder", { value: folder }) as WorkspaceAgent;
  await agent.start();
});
after(async () => {
  await proxy?.stop();
  await site?.stop();
});

const MANIFEST = /GET .*\/blobs\//;
const LEASE = /POST .*\/workspaces\/lease$/;
const RENEW = /POST .*\/workspaces\/renew$/;

const untilEmpty = (): Promise<void> =>
  until("the folder is gone", 20_000, async () => (await readdir(agent.folder)).length === 0);

/** Writes a last word when it is told to end. */
const WORKING =
  "echo changed > work; trap 'sleep 0.3; echo saved > last; exit 0' TERM; echo begun; while :; do sleep 0.05; done";

/**
 * Kills the agent while a command runs that has written what no version has, and starts it again. The new one waits for the
 * version's manifest until `act` is done.
 */
async function adopt(act: (id: string) => Promise<void>): Promise<string> {
  const { id } = await site.create();
  // The manifest of a version that this agent made is not on its disk.
  await site.exec(id, "echo committed > kept");
  await site.startExec(id, WORKING);
  await filesOf(agent);
  await agent.kill();
  let failure: unknown = null;
  const acting = (): Promise<void> => act(id).catch((error: unknown) => void (failure = error));
  const acted = proxy.once({ calls: MANIFEST, at: "before" }, acting);
  await agent.start();
  await acted;
  assert.equal(failure, null);
  return id;
}

/** Twice: what the first one was answered is known to the agent when it asks again, if it has not given the workspace up. */
async function untilTold(id: string): Promise<void> {
  const next = (): Promise<void> => proxy.once({ calls: RENEW, at: "after" }, async () => undefined);
  const twice = async (): Promise<void> => {
    await next();
    await next();
  };
  const isGivenUp = async (): Promise<boolean> => (await site.get(id)).materialization?.status === "stopped";
  await Promise.race([twice(), until("it is given up", 30_000, isGivenUp)]);
}

test("what was changed live is committed, the last words of what ran too, and the folder goes", async () => {
  let stopping: Promise<unknown> = Promise.resolve();
  const id = await adopt(async (workspace) => {
    stopping = site.act(workspace, "stop");
    await site.untilStatus(workspace, "stopping");
    await untilTold(workspace);
  });
  await stopping;
  const stopped = await site.untilStatus(id, "stopped");
  assert.deepEqual([stopped.materialization.dirty, stopped.materialization.error], [false, null]);
  assert.deepEqual(await site.files(id), ["file kept", "file last", "file work"]);
  assert.equal(await site.read(id, "last"), "saved\n");
  await untilEmpty();
});

test("a workspace that is deleted meanwhile leaves nothing", async () => {
  let deleting: Promise<unknown> = Promise.resolve();
  await adopt(async (workspace) => {
    deleting = site.call(site.url, "DELETE", `/api/workspaces/${workspace}`, { timeoutMs: 40_000 });
    await untilTold(workspace);
  });
  await deleting;
  await untilEmpty();
});

test("an agent that is told to end meanwhile commits before it goes", async () => {
  const id = await adopt(async (workspace) => {
    agent.signal("SIGTERM");
    await proxy.once({ calls: LEASE, at: "after" }, async () => undefined);
    await untilTold(workspace);
  });
  await agent.ended();
  const stopped = await site.untilStatus(id, "stopped");
  assert.equal(stopped.materialization.dirty, false);
  assert.deepEqual(await site.files(id), ["file kept", "file last", "file work"]);
  assert.deepEqual(await readdir(agent.folder), []);
  await agent.start();
});

test("what cannot be taken up, because its version cannot be read, is kept until it can", async () => {
  const { id } = await site.create();
  await site.exec(id, "echo committed > kept");
  const exec = await site.startExec(id, WORKING);
  await agent.kill();
  // All pieces of the environment: the manifest is one of them.
  const blobs = path.join(site.dir, "data", "workspaces");
  await rename(blobs, `${blobs}-away`);
  await agent.start();
  const held = await site.untilStatus(id, "uncommitted");
  assert.equal(held.materialization.dirty, true);
  await until("the cause is said", 20_000, async () =>
    /does not give out the blob/.test((await site.get(id)).materialization.error.message),
  );
  assert.equal((await readdir(await filesOf(agent))).includes("work"), true);
  await rm(blobs, { recursive: true, force: true });
  await rename(`${blobs}-away`, blobs);
  await site.act(id, "recover");
  await site.untilStatus(id, "stopped");
  assert.equal(await site.read(id, "work"), "changed\n");
  assert.notEqual((await site.process(exec)).finished_at, null);
  await untilEmpty();
});

test("a folder that could not be removed is removed as soon as it can be", async (t) => {
  const { id } = await site.create();
  await site.act(id, "connect");
  const mount = path.join(await filesOf(agent), "mount");
  const disk = await mountSmallDisk(mount, 1 << 20);
  if (disk === null) return t.skip("needs the right to mount a small disk");
  try {
    await site.act(id, "stop");
    await site.untilStatus(id, "stopped");
    await until("its log says so", 20_000, async () => /trying again later/.test(agent.output()));
    assert.equal((await readdir(agent.folder)).length, 1);
  } finally {
    disk.unmount();
  }
  await untilEmpty();
});

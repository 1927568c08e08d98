// A disk of an agent that has no room left, and then has it again: R16. What it holds up goes on by itself, costs no attempt
// and is nobody's fault.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { bundleOf } from "./support/bundle.ts";
import { fill, fillInodes, mountSmallDisk } from "./support/full-disk.ts";
import { createDeployment, endSupervisors, promoteWhenReady } from "./support/site.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

const DISK_BYTES = 48 << 20;
const SETTLE_MS = 40_000;
const TASKS = [
  { id: "alone", execution: "exclusive" },
  { id: "together", execution: "shared" },
] as const;
const BUNDLE = bundleOf(
  { alone: "return payload;", together: "return payload;" },
  `/*${"x".repeat(65_536)}*/`,
);

type Scene = { disk: string; agent: WorkspaceAgent };

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ leaseDuration: "6s" })));
after(() => site?.stop());

/** An agent whose data folder is a small disk; null where none can be mounted. */
async function startScene(t: TestContext, inodes?: number): Promise<Scene | null> {
  const disk = path.join(site.dir, "agents");
  const small = await mountSmallDisk(disk, DISK_BYTES, inodes);
  if (small === null) {
    t.skip("needs the right to mount a small disk");
    return null;
  }
  const agent = await site.startAgent();
  t.after(async () => {
    await agent.end();
    endSupervisors(site);
    small.unmount();
  });
  return { disk, agent };
}

async function deploy(): Promise<void> {
  await promoteWhenReady(site, await createDeployment(site, BUNDLE, TASKS));
}

async function start(task: string, extra: object = {}): Promise<string> {
  const body = { payload: "done", retry: { max_attempts: 1 }, ...extra };
  const answer = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

const get = async (run: string) => (await site.call(site.url, "GET", `/v1/runs/${run}`)).body;

async function untilSucceeded(run: string): Promise<void> {
  await until(`${run} has succeeded`, SETTLE_MS, async () => {
    const { status, failure } = await get(run);
    assert.ok(!["failed", "system_failed"].includes(status), JSON.stringify(failure));
    return status === "succeeded";
  });
}

/** Handed back for a full folder, which is told; no attempt was spent. */
async function isHeldUp(run: string, folder: string): Promise<void> {
  await until(`${run} says what holds it up`, SETTLE_MS, async () => {
    const { status, failure, status_reason: reason } = await get(run);
    assert.equal(failure, null, `${status}: ${JSON.stringify(failure)}`);
    return reason?.kind === "lease_recovery";
  });
  const { body } = await site.call(site.url, "GET", `/api/runs/${run}/events`);
  const lost = body.events.filter(({ kind }: { kind: string }) => kind === "lease.lost");
  const told = JSON.stringify(lost);
  assert.match(told, /disk is full/);
  assert.ok(told.includes(folder), `${told} does not name ${folder}`);
  assert.ok(!body.events.some(({ kind }: { kind: string }) => kind === "attempt.started"));
}

test("a bundle that cannot be kept says nothing of its deployment, which is checked once there is room", async (t) => {
  const scene = await startScene(t);
  if (scene === null) return;
  const { disk, agent } = scene;
  const ballast = await fill(disk);
  const deployment = await createDeployment(site, BUNDLE, TASKS);
  await until("the worker has said why", SETTLE_MS, async () => {
    const { body } = await site.call(site.url, "GET", `/v1/deployments/${deployment}`);
    assert.notEqual(body.status, "failed", JSON.stringify(body));
    return JSON.stringify(body).includes("disk is full") || agent.output().includes("disk is full");
  });
  await ballast.free();
  await promoteWhenReady(site, deployment);
  await untilSucceeded(await start("alone"));
});

test("a home of a process that cannot be made holds up those runs, and no others", async (t) => {
  const scene = await startScene(t, 400);
  if (scene === null) return;
  const { disk } = scene;
  await deploy();
  await untilSucceeded(await start("alone"));
  const ballast = await fillInodes(disk);
  const held = await start("together");
  await isHeldUp(held, path.join(disk, "agents"));
  // In a process that is there.
  await untilSucceeded(await start("alone"));
  await ballast.free();
  await untilSucceeded(held);
  assert.equal((await get(held)).attempt_number, 1);
});

test("a workspace that cannot be written says which folder is full, and is written once there is room", async (t) => {
  const scene = await startScene(t);
  if (scene === null) return;
  const { disk, agent } = scene;
  await deploy();
  const { id } = await site.create();
  await site.write(id, "large", "x".repeat(4 << 20));
  const ballast = await fill(disk);
  await site.act(id, "materialize");
  const { materialization } = await site.untilStatus(id, "failed");
  assert.match(materialization.error.message, /disk is full/);
  assert.ok(
    materialization.error.message.includes(path.dirname(agent.folder)),
    materialization.error.message,
  );
  // Of a run in it that is nobody's fault.
  const run = await start("alone", { workspace_id: id });
  await isHeldUp(run, path.dirname(agent.folder));
  await ballast.free();
  await untilSucceeded(run);
  assert.equal(await site.read(id, "large"), "x".repeat(4 << 20));
});

test("what a command wrote is committed once the blob store has room, also from a full disk", async (t) => {
  const scene = await startScene(t);
  if (scene === null) return;
  await deploy();
  const { id } = await site.create();
  await site.exec(id, "true");
  // Pieces and bundles on one small disk.
  const [blobs, pieces] = ["blobs", "workspaces"].map((name) => path.join(site.dir, "data", name)) as [
    string,
    string,
  ];
  const small = await mountSmallDisk(blobs, 64 << 20);
  assert.ok(small !== null);
  execFileSync("mount", ["--bind", blobs, pieces]);
  try {
    const ballast = await fill(blobs);
    // All that the agent's disk has, and then the command's own failure.
    const path_ = await site.startExec(
      id,
      "echo begun; head -c 4000000 /dev/urandom > kept; head -c 100000000 /dev/zero > filler; rm filler; dd if=/dev/zero of=last bs=1M count=100; rm last; exit 3",
    );
    await until("the server refuses a piece", SETTLE_MS, async () => {
      const { body } = await site.call(site.url, "GET", "/readyz", { as: "" });
      return JSON.stringify(body).includes("storage_full");
    });
    // Others go on meanwhile.
    await untilSucceeded(await start("together"));
    assert.equal((await site.process(path_)).finished_at, null, "it was given up");
    await ballast.free();
    const over = await site.untilOver(path_);
    assert.deepEqual([over.status, over.exit_code], ["exited", 3]);
    const { current_version_id: current } = await site.get(id);
    assert.equal(over.version_id, current);
    assert.deepEqual((await site.files(id)).toSorted(), ["file kept"]);
  } finally {
    execFileSync("umount", ["-l", pieces]);
    small.unmount();
  }
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startDoubleWorker, type DoubleWorker } from "../../support/workspace-run-scene.ts";
import { workspaceCalls } from "../../support/workspaces.ts";
import { until } from "../../support/until.ts";

const IDLE_MS = 2_000;
const SPARED_MS = 2_000;

let scene: RunScene;
let worker: DoubleWorker;
before(async () => {
  // Leases that outlast the time that the test lets pass.
  scene = await startRunScene(
    { tasks: [{ id: "plain" }] },
    { config: { workspaceIdleMs: IDLE_MS, leaseDurationMs: 300_000 } },
  );
  worker = await startDoubleWorker(scene);
});
after(() => scene.stop());

type Json = { id: string };
const statusOf = async (workspace: Json): Promise<string | undefined> =>
  (await scene.call("GET", `/api/workspaces/${workspace.id}`)).body.materialization?.status;
const becomes = (workspace: Json, status: string): Promise<void> =>
  until(`the workspace to be ${status}`, 60_000, async () => (await statusOf(workspace)) === status);

test("a run says that no worker takes workspaces while that is so", async () => {
  const without = await startRunScene({ tasks: [{ id: "plain" }] });
  try {
    const workspace = await workspaceCalls(without.server).create();
    const run = await without.start("plain", { workspace_id: workspace.id });
    assert.deepEqual((await without.worker.lease({ limit: 5 })).executions, []);
    const { status_reason: reason } = await without.get(run.id);
    assert.deepEqual([reason.kind, reason.details.workspace_id], ["no_worker", workspace.id]);
    await startDoubleWorker(without);
    assert.equal((await without.get(run.id)).status_reason.kind, "worker_busy");
  } finally {
    await without.stop();
  }
});

test("a run keeps its workspace from being stopped as idle until it ends", async () => {
  const calls = workspaceCalls(scene.server);
  const begin = async () => {
    const workspace = await calls.create();
    await scene.start("plain", { workspace_id: workspace.id });
    return { workspace, ...(await worker.begin()) };
  };
  const busy = await begin();
  const idle = await begin();
  const end = { outcome: "succeeded" };
  assert.deepEqual(await worker.runs.report(idle.lease.operation("release", end)), [200]);
  scene.clock.advance(IDLE_MS + 1_000);
  await becomes(idle.workspace, "stopping");
  assert.equal(await statusOf(busy.workspace), "live");
  assert.deepEqual(await worker.runs.report(busy.lease.operation("release", end)), [200]);
  scene.clock.advance(IDLE_MS + 1_000);
  await becomes(busy.workspace, "stopping");
});

test("an idle workspace makes room on a full machine as soon as others wait", async () => {
  const patient = await startRunScene(
    { tasks: [{ id: "plain" }] },
    { config: { workspaceIdleMs: 3_600_000, leaseDurationMs: 300_000 } },
  );
  try {
    const full = await startDoubleWorker(patient, 1);
    const calls = workspaceCalls(patient.server);
    const status = async ({ id }: Json): Promise<string> =>
      (await patient.call("GET", `/api/workspaces/${id}`)).body.materialization.status;
    const [first, second] = [await calls.create(), await calls.create()];
    await patient.start("plain", { workspace_id: first.id });
    const { lease, leased } = await full.begin();
    const run = await patient.start("plain", { workspace_id: second.id });
    patient.clock.advance(SPARED_MS + 1_000);
    assert.deepEqual(await full.look(), []);
    assert.equal(await status(first), "live");
    assert.deepEqual(await full.runs.report(lease.operation("release", { outcome: "succeeded" })), [200]);
    await until(
      "the first workspace to be stopping",
      60_000,
      async () => (await status(first)) === "stopping",
    );
    await full.workspaces.stopped(leased);
    assert.equal((await full.begin()).lease.runId, run.id);
  } finally {
    await patient.stop();
  }
});

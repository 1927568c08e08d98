import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startDoubleWorker, type DoubleWorker } from "../../support/workspace-run-scene.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

const IDLE_MS = 2_000;

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
const becomes = async (workspace: Json, status: string): Promise<void> => {
  while ((await statusOf(workspace)) !== status) await new Promise((resolve) => setTimeout(resolve, 20));
};

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

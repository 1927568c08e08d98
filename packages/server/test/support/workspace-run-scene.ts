// Runs that work in workspaces: workers that take both, and what they say of them.

import assert from "node:assert/strict";
import type { Answer } from "./api-server.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "./raw-worker.ts";
import { startRunScene, type RunScene } from "./run-scene.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "./workspace-worker.ts";
import { workspaceCalls, type WorkspaceCalls } from "./workspaces.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface DoubleWorker {
  readonly runs: RawWorker;
  readonly workspaces: WorkspaceWorker;
  /** Attaches a leased run to its workspace. */
  attach(lease: HeldLease, extra?: object): Promise<Answer>;
  /** Leases one run, attaches it and says that its workspace is live and that it began. */
  begin(): Promise<{ lease: HeldLease; leased: Json }>;
  /** What is there for it now: the ids of the runs that one look gives. */
  look(limit?: number): Promise<HeldLease[]>;
}

export async function startDoubleWorker(scene: RunScene, rooms = 2): Promise<DoubleWorker> {
  const runs = await enrollWorker(scene.server, { workspaces: rooms });
  const workspaces = await startWorkspaceWorker(scene.server, runs.token);
  // It says what isolation works here.
  await workspaces.poll();
  const attach: DoubleWorker["attach"] = (lease, extra = {}) =>
    workspaces.call("/workspaces/attach", { ...lease.fields, ...extra });
  return {
    runs,
    workspaces,
    attach,
    begin: async () => {
      const lease = await runs.takeOne();
      const attached = await attach(lease);
      assert.equal(attached.status, 200, attached.text);
      const leased = attached.body.materialization;
      if (leased.status === "preparing") assert.equal((await workspaces.live(leased)).status, 200);
      assert.deepEqual(await runs.report(lease.operation("start")), [200]);
      return { lease, leased };
    },
    look: async (limit = 10) => {
      const { executions } = await runs.lease({ limit });
      return executions.map((execution: Json) => runs.hold(execution));
    },
  };
}

export interface WorkspaceRunScene {
  readonly scene: RunScene;
  readonly calls: WorkspaceCalls;
  readonly worker: DoubleWorker;
  /** Starts a run in a workspace of its own, and says that it began there. */
  begun(): Promise<{ workspace: Json; run: Json; lease: HeldLease; leased: Json }>;
  /** Ends what runs, so that no test leaves something for the next one's worker. */
  endAll(): Promise<void>;
}

/** With the task `plain`. Stop its `scene` in an `after` hook. */
export async function startWorkspaceRunScene(): Promise<WorkspaceRunScene> {
  const scene = await startRunScene({ tasks: [{ id: "plain" }] });
  const calls = workspaceCalls(scene.server);
  const worker = await startDoubleWorker(scene, 100);
  return {
    scene,
    calls,
    worker,
    begun: async () => {
      const workspace = await calls.create();
      const run = await scene.start("plain", { workspace_id: workspace.id });
      return { workspace, run, ...(await worker.begin()) };
    },
    endAll: async () => {
      await scene.cancelAll();
      await worker.runs.releaseAll();
    },
  };
}

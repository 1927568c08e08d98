// Runs that work in workspaces: workers that take both, and what they say of them.

import assert from "node:assert/strict";
import type { Answer } from "./api-server.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "./raw-worker.ts";
import type { RunScene } from "./run-scene.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "./workspace-worker.ts";

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

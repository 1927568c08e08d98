// Workspaces that Keelson made for runs, and a retention whose time and whose transactions a test has in hand.

import assert from "node:assert/strict";
import { decodeId, type Uuid } from "@keelson/contract";
import { dropRunWorkspaces } from "../../src/core/materializations/drop-run-workspaces.ts";
import type { Database } from "../../src/db/pool.ts";
import type { Tx } from "../../src/db/queryable.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { NEVER_DROPPED } from "./never-dropped.ts";
import { startRunScene, type RunScene } from "./run-scene.ts";
import { until } from "./until.ts";
import { startDoubleWorker, type DoubleWorker } from "./workspace-run-scene.ts";
import { workspaceCalls, type WorkspaceCalls } from "./workspaces.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export const DAY_MS = 86_400_000;

const MANIFEST = {
  tasks: [{ id: "plain" }, { id: "build", sandbox: "node" }],
  actors: [{ id: "chat", sandbox: "node" }],
  sandboxes: [{ id: "node" }],
};

export interface RunWorkspaceScene {
  readonly scene: RunScene;
  readonly calls: WorkspaceCalls;
  readonly worker: DoubleWorker;
  /** A run that worked in a workspace of its own and has ended; its workspace is on no machine. */
  finished(): Promise<{ run: Json; id: string; uuid: Uuid<"ws"> }>;
  statusOf(id: string): Promise<string>;
  /** Drops workspaces as it is done in so many days, of those that were kept for 30. @returns how many. */
  dropIn(days: number, options?: { keptMs?: number | null; db?: Database }): Promise<number>;
  /** A database that does something before a transaction of the retention begins. */
  before(work: () => Promise<unknown>): Database;
  /** A database that does something in each transaction of the retention before it commits. */
  within(work: (tx: Tx) => Promise<unknown>): Database;
}

/** Stop its `scene` in an `after` hook. */
export async function startRunWorkspaceScene(): Promise<RunWorkspaceScene> {
  const scene = await startRunScene(MANIFEST);
  const worker = await startDoubleWorker(scene, 100);
  const { db } = scene.server;
  const newUuid = createUuidGenerator(scene.clock.now);
  const shown = async (id: string): Promise<Json> => {
    const answer = await scene.call("GET", `/api/workspaces/${id}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const withTransaction = (transaction: Database["transaction"]): Database =>
    Object.assign(Object.create(db) as Database, { transaction });
  return {
    scene,
    worker,
    calls: workspaceCalls(scene.server),
    finished: async () => {
      const run = await scene.start("build");
      const { lease, leased } = await worker.begin();
      assert.equal(lease.runId, run.id);
      assert.deepEqual(await worker.runs.report(lease.operation("release", { outcome: "succeeded" })), [200]);
      const id = run.workspace_id as string;
      const stopping = scene.call("POST", `/api/workspaces/${id}/stop`);
      await until(
        "it is being stopped",
        30_000,
        async () => (await shown(id)).materialization.status === "stopping",
      );
      await worker.workspaces.stopped(leased);
      assert.equal((await stopping).status, 200);
      return { run, id, uuid: decodeId("ws", id) as Uuid<"ws"> };
    },
    statusOf: async (id) => (await shown(id)).status,
    dropIn: async (days, { keptMs = 30 * DAY_MS, db: other = db } = {}) => {
      let dropped = 0;
      await dropRunWorkspaces({
        db: other,
        clock: () => scene.clock.now() + days * DAY_MS,
        newUuid,
        retention: { ...NEVER_DROPPED, runWorkspacesMs: keptMs },
        countDropped: (kind, count) => {
          assert.equal(kind, "run_workspaces");
          dropped += count;
        },
        noteLoopFailure: () => undefined,
      });
      return dropped;
    },
    before: (work) =>
      withTransaction(async (inner, options) => {
        await work();
        return db.transaction(inner, options);
      }),
    within: (work) =>
      withTransaction((inner, options) =>
        db.transaction(async (tx) => {
          const result = await inner(tx);
          await work(tx);
          return result;
        }, options),
      ),
  };
}

// Somebody uses a workspace that was made for a run while the retention deletes it: whoever commits first wins.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Tx } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { startRunWorkspaceScene, type RunWorkspaceScene } from "../support/run-workspace-scene.ts";
import { until } from "../support/until.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunWorkspaceScene;
before(async () => {
  scene = await startRunWorkspaceScene();
});
after(() => scene.scene.stop());
afterEach(async () => {
  await scene.scene.cancelAll();
  await scene.worker.runs.releaseAll();
});

const call = async (method: string, path: string, body: object): Promise<[number, string]> => {
  const answer = await scene.scene.call(method, path, { body });
  return [answer.status, answer.body.error?.code ?? ""];
};

/** A run of the other worker starts one in the workspace. */
async function startChild(workspace: string): Promise<[number, string]> {
  await scene.scene.start("plain");
  const lease = await scene.scene.worker.takeOne();
  const child = { position: 1, task: "plain", workspace_id: workspace };
  const [, started] = await scene.scene.worker.results(
    lease.operation("start"),
    lease.operation("child-runs", child),
  );
  const { error } = started.result;
  return error === null ? [201, ""] : [400, error.code];
}

async function replay(workspace: string): Promise<[number, string]> {
  const { body } = await scene.scene.call("GET", "/v1/runs?limit=200");
  const run = body.runs.find((one: Json) => one.workspace_id === workspace);
  const made = await scene.scene.call("POST", "/v1/runs/bulk-actions", {
    body: { action: "replay", run_ids: [run.id] },
  });
  const action = `/v1/runs/bulk-actions/${made.body.id}`;
  await until("it was replayed", 30_000, async () => {
    const { status } = (await scene.scene.call("GET", action)).body;
    return status === "completed" || status === "failed";
  });
  const [item] = (await scene.scene.call("GET", `${action}/items`)).body.items;
  return item.outcome === "replayed" ? [201, ""] : [400, item.error?.code ?? item.code];
}

const exec = { command: ["true"] };
/** What is asked of the workspace, what it is answered, and what it is answered when the deletion was first. */
const USES: Record<
  string,
  [(id: string, version: string) => Promise<[number, string]>, number, [number, string]]
> = {
  "a start that names it": [
    (id) => call("POST", "/v1/tasks/plain/start", { workspace_id: id }),
    201,
    [400, "invalid_request"],
  ],
  "a session that names it": [
    (id) => call("POST", "/api/sessions", { task: "plain", workspace_id: id }),
    201,
    [400, "invalid_request"],
  ],
  "a child run that names it": [(id) => startChild(id), 201, [400, "invalid_request"]],
  "a replay of its run": [(id) => replay(id), 201, [400, "invalid_request"]],
  "a command": [(id) => call("POST", `/api/workspaces/${id}/execs`, exec), 201, [404, "not_found"]],
  "a materialization": [
    (id) => call("POST", `/api/workspaces/${id}/materialize`, {}),
    202,
    [404, "not_found"],
  ],
  "a change of it": [
    (id) => call("PATCH", `/api/workspaces/${id}`, { tags: ["mine"] }),
    200,
    [404, "not_found"],
  ],
};

const versionOf = async (id: string): Promise<string> =>
  (await scene.scene.call("GET", `/api/workspaces/${id}`)).body.current_version_id;

/** Waits until a statement waits for the transaction. */
const seesWaiter = (tx: Tx): Promise<void> =>
  until("somebody waits for the deletion", 60_000, async () => {
    await tx.query(sql`SELECT pg_stat_clear_snapshot()`);
    const [row] = await tx.query<{ count: number }>(sql`
      SELECT count(*) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return (row?.count ?? 0) > 0;
  });

describe("against the deletion of a workspace that was made for a run", () => {
  for (const [name, [use, accepted, refused]] of Object.entries(USES)) {
    test(`${name} that is first keeps it`, async () => {
      const { id } = await scene.finished();
      const version = await versionOf(id);
      let answer: [number, string] = [0, ""];
      const db = scene.before(async () => {
        answer = await use(id, version);
      });
      assert.equal(await scene.dropIn(31, { db }), 0);
      assert.deepEqual(answer, [accepted, ""]);
      assert.equal(await scene.statusOf(id), "active");
      await scene.scene.call("DELETE", `/api/workspaces/${id}`);
    });

    test(`${name} that is second is refused`, async () => {
      const { id } = await scene.finished();
      const version = await versionOf(id);
      let answer: Promise<[number, string]> = Promise.resolve([0, ""]);
      const db = scene.within(async (tx) => {
        answer = use(id, version);
        await seesWaiter(tx);
      });
      assert.equal(await scene.dropIn(31, { db }), 1);
      assert.deepEqual(await answer, refused);
      assert.equal(await scene.statusOf(id), "deleted");
      await checkInvariants(scene.scene.server.db, name);
    });
  }

  test("a fork that is first has its files, and one that is second is refused", async () => {
    const { id } = await scene.finished();
    await scene.calls.write(id, "notes", "in both");
    const fork = { from_version_id: await versionOf(id) };
    let forked = "";
    const before = scene.before(async () => {
      forked = (await scene.calls.create(fork)).id;
    });
    assert.equal(await scene.dropIn(31, { db: before }), 1);
    assert.equal(await scene.calls.read(forked, "notes"), "in both");

    const { id: second } = await scene.finished();
    const late = { from_version_id: await versionOf(second) };
    let answer: Promise<[number, string]> = Promise.resolve([0, ""]);
    const within = scene.within(async (tx) => {
      answer = call("POST", "/api/workspaces", late);
      await seesWaiter(tx);
    });
    assert.equal(await scene.dropIn(31, { db: within }), 1);
    assert.deepEqual(await answer, [400, "invalid_request"]);
  });
});

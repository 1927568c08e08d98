import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startWorkspaceRunScene, type WorkspaceRunScene } from "../../support/workspace-run-scene.ts";
import { untilBlocked } from "../../support/until-blocked.ts";

let site: WorkspaceRunScene;
before(async () => (site = await startWorkspaceRunScene()));
after(() => site.scene.stop());
afterEach(() => site.endAll());

const command = { position: 1, name: "npm test", command: ["npm", "test"] };

/** How far the run's operations and its journal have come. */
async function readProgress({ id }: { id: string }): Promise<object | undefined> {
  const [row] = await site.scene.server.db.query<{
    applied: number;
    journal: number;
    bytes: number;
    rows: number;
  }>(sql`
    SELECT e.applied_sequence AS applied, e.journal_sequence AS journal, e.journal_bytes::integer AS bytes,
      (SELECT count(*) FROM run_journal j WHERE j.environment_id = e.environment_id AND j.run_id = e.run_id) AS rows
    FROM executions e WHERE e.run_id = ${decodeId("run", id)}`);
  return row;
}

const NOTHING_ENTERED = { applied: 1, journal: 0, bytes: 0, rows: 0 };

describe("a command whose workspace the worker has lost", () => {
  test("leaves no trace in its run, and is refused again when it is repeated", async () => {
    const { run, lease, leased } = await site.begun();
    const failed = { ...site.worker.workspaces.fields(leased), error: { message: "the disk is gone" } };
    assert.equal((await site.worker.workspaces.call("/workspaces/failed", failed)).status, 200);
    const operation = lease.operation("execs", command);
    const entries = [{ position: 2, kind: "step", name: "beside", value: 1 }];
    const later = lease.operation("steps", { entries });
    assert.deepEqual(await site.worker.runs.report(operation, later), ["lease_lost", "invalid_state"]);
    assert.deepEqual(await readProgress(run), NOTHING_ENTERED);
    assert.deepEqual(await site.worker.runs.report(operation), ["lease_lost"]);
  });

  test("leaves none either when it is lost while the report is applied", async () => {
    const { workspace, run, lease, leased } = await site.begun();
    const materializationId = decodeId("mat", leased.materialization_id);
    let reported: Promise<unknown> = Promise.resolve();
    await site.scene.server.db.transaction(async (tx) => {
      await tx.query(
        sql`SELECT FROM workspaces WHERE id = ${decodeId("ws", workspace.id)} FOR NO KEY UPDATE`,
      );
      await tx.query(sql`
        UPDATE materializations SET status = 'failed', finished_at = now() WHERE id = ${materializationId}`);
      reported = site.worker.runs.report(lease.operation("execs", command));
      await untilBlocked(site.scene.server.db);
    });
    assert.deepEqual(await reported, ["lease_lost"]);
    assert.deepEqual(await readProgress(run), NOTHING_ENTERED);
  });
});

test("a command that never began has no outcome when its workspace is deleted: its run is to stop", async () => {
  const { workspace, lease, leased } = await site.begun();
  const [{ result }] = await site.worker.runs.results(lease.operation("execs", command));
  const read = (wait: string) =>
    site.worker.workspaces.call("/workspaces/processes/result", {
      ...lease.fields,
      ...{ process_id: result.value.id, wait },
    });
  const waiting = read("30s");
  const deleted = await site.scene.call("DELETE", `/api/workspaces/${workspace.id}`);
  assert.ok(deleted.status < 300, deleted.text);
  for (const { status, body } of [await waiting, await read("0s")]) {
    assert.deepEqual([status, body.error.code], [409, "invalid_state"]);
    assert.match(body.error.message, /deleted/);
  }
  await site.worker.workspaces.stopped(leased);
  const late = await read("0s");
  assert.deepEqual([late.status, late.body.error.code], [404, "not_found"]);
});

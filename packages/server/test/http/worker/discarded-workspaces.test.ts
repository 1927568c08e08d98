// What a worker that has come back is told of files that it could not commit, while somebody says that they are not wanted.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { untilBlocked } from "../../support/until-blocked.ts";
import { startWorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

/** No statement reads a version while it works. */
async function withoutVersions(server: ApiServer, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server.db.directUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query("LOCK TABLE workspace_versions IN ACCESS EXCLUSIVE MODE");
    await work();
  } finally {
    await client.end();
  }
}

describe("files that could not be committed", () => {
  let server: ApiServer;
  before(async () => (server = await startApiServer()));
  after(() => server.stop());

  test("a worker that asks while they are discarded is told so", async () => {
    const worker = await startWorkspaceWorker(server);
    const { id } = await workspaceCalls(server).create();
    const act = (verb: string, body = {}) => server.call("POST", `/api/workspaces/${id}/${verb}`, { body });
    await act("materialize");
    const leased = await worker.take();
    await worker.live(leased);
    const kept = { ...worker.fields(leased), error: { message: "The disk was full." } };
    assert.equal((await worker.call("/workspaces/uncommitted", kept)).status, 200);

    let answer: Promise<{ discarded: string[] }> | undefined;
    await withoutVersions(server, async () => {
      answer = worker.poll({ quarantined: [worker.fields(leased)] });
      // It has seen that they are this worker's, and looks for what the worker needs to know of them.
      await untilBlocked(server.db);
      const discarded = await act("discard", { confirm: true });
      assert.equal(discarded.status, 200, discarded.text);
    });
    assert.deepEqual((await answer)?.discarded, [leased.materialization_id]);
  });
});

// Processes that wait for a workspace: they come with its lease, and begin with the word that it is live.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Far less than the 30 s that a call waits for a workspace. */
const ANSWER_WITHIN_MS = 15_000;

describe("processes that wait for a workspace", () => {
  let server: ApiServer;
  let calls: WorkspaceCalls;
  let worker: WorkspaceWorker;
  before(async () => {
    server = await startApiServer();
    calls = workspaceCalls(server);
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());

  const post = (path: string, body: object = {}) => server.call("POST", path, { body });
  const statusOf = async (path: string): Promise<string> => (await server.call("GET", path)).body.status;
  const live = (leased: Json, starts: string[]) =>
    worker.call("/workspaces/live", { ...worker.fields(leased), isolation: "namespace", starts });
  const startedOf = async (leased: Json, starts: string[]): Promise<string[]> => {
    const answer = await live(leased, starts);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.started;
  };

  /** A new workspace for which so many commands wait. */
  async function begin(count = 1): Promise<{ workspace: string; ids: string[]; paths: string[] }> {
    const { id: workspace } = await calls.create();
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) {
      const created = await post(`/api/workspaces/${workspace}/execs`, { command: ["true"] });
      assert.equal(created.status, 201, created.text);
      ids.push(created.body.id);
    }
    return { workspace, ids, paths: ids.map((id) => `/api/workspaces/${workspace}/execs/${id}`) };
  }

  async function lease(): Promise<{ leased: Json; processes: Json[] }> {
    const { materializations, processes } = await worker.poll({ limit: 1, wait: "10s" });
    assert.equal(materializations.length, 1);
    return { leased: materializations[0], processes };
  }
  const heldOf = (leased: Json, ids: string[]): Json[] => [
    {
      ...worker.fields(leased),
      stopping: false,
      processes: ids.map((process_id) => ({
        process_id,
        ...{ input_offset: 0, input_closed: false, control_sequence: 0 },
      })),
    },
  ];

  test("they come with the lease, begin with the word that it is live, and are given once", async () => {
    const { ids, paths } = await begin(2);
    const { leased, processes } = await lease();
    assert.deepEqual(
      processes.map((start) => [start.process_id, start.status, start.materialization_id]),
      ids.map((id) => [id, "pending", leased.materialization_id]),
    );
    assert.deepEqual((await worker.poll({ held: heldOf(leased, ids) })).processes, []);
    assert.deepEqual(await Promise.all(paths.map(statusOf)), ["pending", "pending"]);

    assert.deepEqual(await startedOf(leased, ids), ids);
    assert.deepEqual(await Promise.all(paths.map(statusOf)), ["running", "running"]);
    assert.deepEqual(await startedOf(leased, ids), ids, "a repeat is answered the same");
    assert.deepEqual((await worker.poll({ held: heldOf(leased, ids) })).processes, []);
    await worker.stopped(leased);
  });

  test("a lease whose answer was lost is given again with them", async () => {
    const { ids } = await begin();
    const { leased } = await lease();
    const again = await lease();
    assert.equal(again.leased.materialization_id, leased.materialization_id);
    assert.deepEqual(
      again.processes.map(({ process_id: id }) => id),
      ids,
    );
    assert.deepEqual(await startedOf(leased, ids), ids);
    await worker.stopped(leased);
  });

  test("what the worker does not name is given by the poll once it is live", async () => {
    const { workspace, ids } = await begin();
    const { leased } = await lease();
    const later = await post(`/api/workspaces/${workspace}/execs`, { command: ["true"] });
    assert.deepEqual((await worker.poll({ held: heldOf(leased, ids) })).processes, []);
    assert.deepEqual(await startedOf(leased, ids), ids);
    const { processes } = await worker.poll({ held: heldOf(leased, ids) });
    assert.deepEqual(
      processes.map(({ process_id: id }: Json) => id),
      [later.body.id],
    );
    await post(`/api/workspaces/${workspace}/execs/${later.body.id}/signal`, { signal: "SIGKILL" });
    await worker.stopped(leased);
  });

  test("one that was cancelled meanwhile does not begin, and neither does one of another workspace", async () => {
    const other = await begin();
    const { leased: others } = await lease();
    const { ids, paths } = await begin();
    const { materializations } = await worker.poll({
      limit: 1,
      wait: "10s",
      held: heldOf(others, other.ids),
    });
    const leased = materializations[0];
    await post(`${paths[0]}/signal`, { signal: "SIGTERM" });
    assert.deepEqual(await startedOf(leased, [...ids, ...other.ids]), []);
    assert.deepEqual(await statusOf(paths[0] as string), "cancelled");
    assert.deepEqual(await statusOf(other.paths[0] as string), "pending");
    assert.deepEqual(await startedOf(others, other.ids), other.ids);
    await worker.stopped(leased);
    await worker.stopped(others);
  });

  test("a worker that has lost the lease begins nothing", async () => {
    const { ids, paths } = await begin();
    const { leased } = await lease();
    const late = { ...leased, epoch: leased.epoch + 1 };
    assert.equal((await live(late, ids)).body.error.code, "lease_lost");
    assert.equal(await statusOf(paths[0] as string), "pending");
    assert.deepEqual(await startedOf(leased, ids), ids);
    await worker.stopped(leased);
  });

  for (const verb of ["stop", "recover"]) {
    const name = `${verb} is answered once the worker is done, while a command waits for what comes next`;
    test(name, { timeout: ANSWER_WITHIN_MS }, async () => {
      const { workspace } = await begin(0);
      assert.equal((await post(`/api/workspaces/${workspace}/materialize`)).status, 202);
      const { leased } = await lease();
      await live(leased, []);
      if (verb === "recover") {
        const error = { message: "no space left" };
        const kept = await worker.call("/workspaces/uncommitted", { ...worker.fields(leased), error });
        assert.equal(kept.status, 200, kept.text);
      }
      const asked = post(`/api/workspaces/${workspace}/${verb}`);
      const { stops } = await worker.poll({ wait: "10s", held: heldOf(leased, []) });
      assert.equal(stops.length, 1);
      const { body: exec } = await post(`/api/workspaces/${workspace}/execs`, { command: ["true"] });
      await worker.stopped(leased);

      const answer = await asked;
      assert.equal(answer.status, 200, answer.text);
      assert.notEqual(answer.body.materialization.id, leased.materialization_id);
      assert.equal(answer.body.materialization.status, "requested");
      const next = await lease();
      assert.deepEqual(await startedOf(next.leased, [exec.id]), [exec.id]);
      await worker.stopped(next.leased);
    });
  }

  test("a draining worker is given none", async () => {
    const draining = await startWorkspaceWorker(server);
    assert.equal((await draining.call("/drain", {})).status, 200);
    const { ids } = await begin();
    const { materializations, processes } = await draining.poll({ limit: 1 });
    assert.deepEqual([materializations, processes], [[], []]);
    const { leased } = await lease();
    assert.deepEqual(await startedOf(leased, ids), ids);
    await worker.stopped(leased);
  });
});

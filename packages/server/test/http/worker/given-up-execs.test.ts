// Commands of runs whose code gives them up.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startWorkspaceRunScene, type WorkspaceRunScene } from "../../support/workspace-run-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let site: WorkspaceRunScene;
before(async () => (site = await startWorkspaceRunScene()));
after(() => site.scene.stop());
afterEach(() => site.endAll());

const exec = (lease: HeldLease, position: number): Json =>
  lease.operation("execs", { position, name: "make", command: ["make"] });
const giveUp = (lease: HeldLease, ...cancels: number[]): Json =>
  lease.operation("waits", { waits: [], parked: false, cancels });
const idOf = ({ result }: Json): string => result.value.id;

const say = async (what: string, leased: Json, process: string, extra: object = {}): Promise<void> => {
  const fields = { ...site.worker.workspaces.fields(leased), process_id: process };
  const answer = await site.worker.workspaces.call(`/workspaces/processes/${what}`, { ...fields, ...extra });
  assert.equal(answer.status, 200, answer.text);
};
const statusOf = async (workspace: Json, id: string): Promise<string> =>
  (await site.scene.call("GET", `/api/workspaces/${workspace.id}/execs/${id}`)).body.status;
const controlsOf = async (id: string): Promise<string[]> =>
  (
    await site.scene.server.db.query<{ kind: string }>(
      sql`SELECT kind FROM process_controls WHERE process_id = ${decodeId("exec", id)} ORDER BY sequence`,
    )
  ).map(({ kind }) => kind);

test("a command that runs is asked to end, and has been cancelled when it has", async () => {
  const { workspace, lease, leased } = await site.begun();
  const [made] = await site.worker.runs.results(exec(lease, 1));
  const id = idOf(made);
  await say("started", leased, id);
  const operation = giveUp(lease, 1);
  for (const again of [operation, operation]) assert.deepEqual(await site.worker.runs.report(again), [200]);
  assert.deepEqual(await controlsOf(id), ["close"]);
  await say("ended", leased, id, { outcome: "cancelled", signal: "SIGTERM" });
  assert.equal(await statusOf(workspace, id), "cancelled");
  assert.deepEqual(await site.worker.runs.report(giveUp(lease, 1)), [200]);
  assert.equal(await statusOf(workspace, id), "cancelled");
});

test("a command that has not begun never does, also one of the same report", async () => {
  const { workspace, lease } = await site.begun();
  const [one, other] = await site.worker.runs.results(exec(lease, 1), exec(lease, 2), giveUp(lease, 2));
  assert.deepEqual(
    [await statusOf(workspace, idOf(one)), await statusOf(workspace, idOf(other))],
    ["pending", "cancelled"],
  );
  await site.worker.runs.report(giveUp(lease, 1));
  assert.equal(await statusOf(workspace, idOf(one)), "cancelled");
});

test("a command that has ended stays as it is", async () => {
  const { workspace, lease, leased } = await site.begun();
  const [made] = await site.worker.runs.results(exec(lease, 1));
  await say("started", leased, idOf(made));
  await say("ended", leased, idOf(made), { outcome: "exited", exit_code: 0 });
  assert.deepEqual(await site.worker.runs.report(giveUp(lease, 1)), [200]);
  assert.equal(await statusOf(workspace, idOf(made)), "exited");
});

test("a command that was given up does not run again when its machine is lost", async () => {
  const { workspace, lease, leased } = await site.begun();
  const [made] = await site.worker.runs.results(exec(lease, 1));
  await say("started", leased, idOf(made));
  await site.worker.runs.report(giveUp(lease, 1));
  const failed = { ...site.worker.workspaces.fields(leased), error: { message: "the supervisor ended" } };
  assert.equal((await site.worker.workspaces.call("/workspaces/failed", failed)).status, 200);
  assert.equal(await statusOf(workspace, idOf(made)), "lost");
});

test("a command that waits to run again never does", async () => {
  const { workspace, lease, leased } = await site.begun();
  const [made] = await site.worker.runs.results(exec(lease, 1));
  await say("started", leased, idOf(made));
  const failed = { ...site.worker.workspaces.fields(leased), error: { message: "the supervisor ended" } };
  assert.equal((await site.worker.workspaces.call("/workspaces/failed", failed)).status, 200);
  assert.equal(await statusOf(workspace, idOf(made)), "pending");
  await site.worker.runs.report(giveUp(lease, 1));
  assert.equal(await statusOf(workspace, idOf(made)), "cancelled");
});

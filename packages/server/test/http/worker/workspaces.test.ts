import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { sql } from "../../../src/db/sql.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";
import { letPass, until } from "../../support/until.ts";

const IDLE_MS = 60_000;

describe("materializations", () => {
  const clock = createTestClock();
  let server: ApiServer;
  let calls: WorkspaceCalls;
  let worker: WorkspaceWorker;
  before(async () => {
    server = await startApiServer({ clock: clock.now, config: { workspaceIdleMs: IDLE_MS } });
    calls = workspaceCalls(server);
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());
  // Nothing is left to be leased by the next test.
  afterEach(async () => {
    const { body } = await server.call("GET", "/api/workspaces?limit=200");
    for (const { id } of body.workspaces) await server.call("DELETE", `/api/workspaces/${id}`);
    const { materializations } = await worker.poll({ limit: 100 });
    for (const leased of materializations) await worker.stopped(leased);
  });

  const act = (id: string, verb: string) => server.call("POST", `/api/workspaces/${id}/${verb}`);
  const get = async (id: string) => (await server.call("GET", `/api/workspaces/${id}`)).body;
  const statusOf = async (id: string) => (await get(id)).materialization?.status;
  const held = (leased: object, extra: object = {}) => ({
    ...worker.fields(leased),
    stopping: false,
    processes: [],
    ...extra,
  });

  test("one is requested, prepared, live, committed and stopped, and its files are read without it", async () => {
    const workspace = await calls.create();
    await calls.write(workspace.id, "a.txt", "before");
    const asked = await act(workspace.id, "materialize");
    assert.deepEqual([asked.status, asked.body.materialization.status], [202, "requested"]);
    const leased = await worker.take();
    const { current_version_id: base } = await get(workspace.id);
    assert.deepEqual(
      [
        leased.workspace_id,
        leased.status,
        leased.epoch,
        leased.base.version_id,
        leased.setup,
        leased.sandbox.declared_id,
      ],
      [workspace.id, "preparing", 1, base, null, "default"],
    );
    assert.equal(await statusOf(workspace.id), "preparing");
    assert.equal((await worker.live(leased)).body.status, "live");
    const connected = await act(workspace.id, "connect");
    assert.deepEqual(
      [connected.status, connected.body.materialization.status, connected.body.materialization.isolation],
      [200, "live", "namespace"],
    );
    const busy = await server.call("PUT", `/api/workspaces/${workspace.id}/files/content?path=a.txt`, {
      bytes: Buffer.from("x"),
    });
    assert.deepEqual([busy.status, busy.body.error.code], [409, "workspace_busy"]);
    const committed = await worker.commit(
      leased,
      base,
      { "a.txt": "after", "b.txt": "new" },
      {
        cause: { kind: "exec", id: "exec_x" },
      },
    );
    assert.deepEqual(
      [committed.status, committed.body.created, committed.body.version.number, committed.body.version.cause],
      [200, true, 3, { kind: "exec", id: "exec_x" }],
      committed.text,
    );
    assert.deepEqual([committed.body.version.file_count, committed.body.version.size_bytes], [2, 8]);
    assert.equal(await calls.read(workspace.id, "a.txt"), "after");
    const stopping = act(workspace.id, "stop");
    const { stops } = await worker.poll({ wait: "10s", held: [held(leased)] });
    assert.deepEqual(stops, [{ ...worker.fields(leased), mode: "commit" }]);
    assert.equal((await worker.stopped(leased)).body.status, "stopped");
    assert.deepEqual(
      [(await stopping).status, (await stopping).body.materialization.status],
      [200, "stopped"],
    );
    assert.equal(await calls.read(workspace.id, "b.txt"), "new");
    await calls.write(workspace.id, "c.txt", "again writable");
    // The next one has a later epoch and begins with what is current.
    await act(workspace.id, "materialize");
    const again = await worker.take();
    assert.deepEqual([again.epoch, again.base.version_id], [2, (await get(workspace.id)).current_version_id]);
  });

  test("a connection waits until it is live", async () => {
    const { id } = await calls.create();
    const connecting = act(id, "connect");
    const leased = await worker.take();
    await worker.live(leased);
    const connected = await connecting;
    assert.deepEqual([connected.status, connected.body.materialization.status], [200, "live"]);
  });

  test("at most one is live, whoever asks at the same time, and one worker gets it", async () => {
    const other = await startWorkspaceWorker(server);
    const { id } = await calls.create();
    const asked = await Promise.all(Array.from({ length: 8 }, () => act(id, "materialize")));
    assert.equal(new Set(asked.map(({ body }) => body.materialization.id)).size, 1);
    const polls = await Promise.all([worker, other, worker, other].map((one) => one.poll({ limit: 5 })));
    const leases = polls.flatMap(({ materializations }) => materializations);
    assert.equal(new Set(leases.map(({ epoch }: { epoch: number }) => epoch)).size, 1);
    await other.call("/drain", {});
  });

  test("a lease whose answer was lost is given again, and what is not the worker's is lost", async () => {
    const { id } = await calls.create();
    await act(id, "materialize");
    const leased = await worker.take();
    const again = await worker.poll();
    assert.deepEqual(again.materializations, [leased]);
    const known = await worker.poll({ held: [held(leased)] });
    assert.deepEqual([known.materializations, known.lost], [[], []]);
    const stale = await worker.poll({ held: [{ ...held(leased), epoch: 7 }] });
    assert.deepEqual([stale.lost, stale.materializations], [[leased.materialization_id], [leased]]);
    const other = await startWorkspaceWorker(server);
    for (const call of [
      other.live(leased),
      other.stopped(leased),
      other.call("/workspaces/failed", { ...worker.fields(leased), error: { message: "x" } }),
      worker.live({ ...leased, epoch: 2 }),
      worker.live({ ...leased, environment_id: encodeId("env", "00000000-0000-7000-8000-000000000000") }),
    ]) {
      const answer = await call;
      assert.deepEqual([answer.status, answer.body.error.code], [409, "lease_lost"]);
    }
    assert.deepEqual((await other.renew(leased)).lost, [leased.materialization_id]);
    await other.call("/drain", {});
  });

  test("what needs namespaces goes to no machine without them, and the workspace says so", async () => {
    const manifest = { tasks: [], sandboxes: [{ id: "strict", isolation: "namespace" }] };
    await promote(server, (await createReadyDeployment(server, await startWorker(server), manifest)).id);
    const { id } = await calls.create({ sandbox: "strict" });
    await worker.poll({ isolation: "process" });
    await act(id, "materialize");
    assert.deepEqual((await worker.poll({ limit: 1, isolation: "process" })).materializations, []);
    const waiting = await get(id);
    assert.equal(waiting.status_reason.kind, "isolation");
    assert.equal(waiting.materialization.error.message, waiting.status_reason.message);
    const leased = await worker.take({ isolation: "namespace" });
    const less = await worker.live(leased, "process");
    assert.deepEqual([less.status, less.body.error.code], [400, "invalid_request"]);
    const failed = await worker.call("/workspaces/failed", {
      ...worker.fields(leased),
      error: { message: "bubblewrap does not work here" },
    });
    assert.equal(failed.body.status, "failed");
    const { materialization } = await get(id);
    assert.deepEqual(
      [materialization.status, materialization.error],
      ["failed", { message: "bubblewrap does not work here" }],
    );
  });

  test("a setup is run once, and its result is what the next workspaces begin with", async () => {
    const manifest = { tasks: [], sandboxes: [{ id: "built", setup: ["echo built > built.txt"] }] };
    await promote(server, (await createReadyDeployment(server, await startWorker(server), manifest)).id);
    const first = await calls.create({ sandbox: "built" });
    assert.deepEqual(await calls.files(first.id), []);
    await act(first.id, "materialize");
    const leased = await worker.take();
    assert.deepEqual(leased.setup.commands, ["echo built > built.txt"]);
    const base = await worker.commit(
      leased,
      leased.base.version_id,
      { "built.txt": "built\n" },
      {
        cause: { kind: "create" },
        setup_digest: leased.setup.digest,
      },
    );
    assert.equal(base.status, 200, base.text);
    await worker.live(leased);
    const second = await calls.create({ sandbox: "built" });
    assert.equal(await calls.read(second.id, "built.txt"), "built\n");
    await act(second.id, "materialize");
    assert.equal((await worker.take({ held: [held(leased)] })).setup, null);
    assert.equal(
      (await worker.poll()).materializations.find(
        (m: { workspace_id: string }) => m.workspace_id === first.id,
      ).setup,
      null,
    );
    // The base goes with the workspace that made it; then the setup is run again.
    await server.call("DELETE", `/api/workspaces/${first.id}`);
    await worker.stopped(leased);
    const third = await calls.create({ sandbox: "built" });
    assert.deepEqual(await calls.files(third.id), []);
  });

  test("a commit is fenced, repeatable and whole", async () => {
    const { id, current_version_id: base } = await calls.create();
    await act(id, "materialize");
    const leased = await worker.take();
    await worker.live(leased);
    const { manifest, blobs } = await worker.store(leased, { f: "one" });
    const body = {
      ...worker.fields(leased),
      commit_id: "first",
      parent_version_id: base,
      manifest_digest: manifest,
      cause: { kind: "run" },
    };
    const commit = (extra: object) => worker.call("/workspaces/commit", { ...body, ...extra });
    const stale = await commit({ epoch: 2 });
    assert.deepEqual([stale.status, stale.body.error.code], [409, "lease_lost"]);
    const absent = await commit({ manifest_digest: "0".repeat(64) });
    assert.deepEqual(absent.body.error.details, { missing_blobs: ["0".repeat(64)] });
    const notOne = await commit({ manifest_digest: blobs[0] });
    assert.deepEqual([notOne.status, notOne.body.error.code], [400, "invalid_request"]);
    const first = await commit({});
    assert.deepEqual([first.status, first.body.created], [200, true], first.text);
    const again = await commit({});
    assert.deepEqual(again.body, first.body);
    const other = await commit({ commit_id: "second" });
    assert.deepEqual(
      [other.status, other.body.error.code, other.body.error.details],
      [409, "invalid_state", { current_version_id: first.body.version.id }],
    );
    const unchanged = await commit({ commit_id: "third", parent_version_id: first.body.version.id });
    assert.deepEqual([unchanged.body.created, unchanged.body.version], [false, first.body.version]);
    // A piece that is not there makes no version.
    const next = await worker.store(leased, { f: "two" });
    await server.db.query(
      sql`DELETE FROM blobs WHERE digest = ${Buffer.from(next.blobs[0] as string, "hex")}`,
    );
    const parent_version_id = first.body.version.id;
    const missing = await commit({ commit_id: "fourth", parent_version_id, manifest_digest: next.manifest });
    assert.deepEqual([missing.status, missing.body.error.details], [409, { missing_blobs: [next.blobs[0]] }]);
    assert.equal((await get(id)).current_version_id, first.body.version.id);
    await worker.store(leased, { f: "two" });
    const mended = await commit({ commit_id: "fourth", parent_version_id, manifest_digest: next.manifest });
    assert.equal(mended.status, 200, mended.text);
    assert.equal(await calls.read(id, "f"), "two");
    await worker.stopped(leased);
    const late = await commit({ commit_id: "fifth", parent_version_id: mended.body.version.id });
    assert.deepEqual([late.status, late.body.error.code], [409, "lease_lost"]);
  });

  test("a worker that is lost before it is live loses the lease to another, a live one fails with its last version whole", async () => {
    const { id } = await calls.create();
    await calls.write(id, "f", "kept");
    await act(id, "materialize");
    const first = await worker.take();
    await outlastLeases({ server, clock });
    const other = await startWorkspaceWorker(server);
    const second = await other.take();
    assert.deepEqual([second.materialization_id, second.epoch], [first.materialization_id, first.epoch + 1]);
    assert.equal((await worker.live(first)).body.error.code, "lease_lost");
    assert.deepEqual((await worker.poll({ held: [held(first)] })).lost, [first.materialization_id]);
    assert.equal((await other.live(second)).body.status, "live");
    await outlastLeases({ server, clock });
    await until("the workspace to be failed", 60_000, async () => (await statusOf(id)) === "failed");
    assert.match((await get(id)).materialization.error.message, /worker was lost/);
    const late = await other.commit(second, second.base.version_id, { f: "too late" });
    assert.equal(late.body.error.code, "lease_lost");
    assert.equal(await calls.read(id, "f"), "kept");
    await act(id, "materialize");
    const third = await worker.take();
    assert.equal(third.epoch, second.epoch + 1);
  });

  test("a late call of the newest epoch is as good as a punctual one, and a renewal keeps the lease", async () => {
    const { id } = await calls.create();
    await act(id, "materialize");
    const leased = await worker.take();
    await worker.live(leased);
    for (let i = 0; i < 4; i += 1) {
      clock.advance(5_000);
      const renewal = await worker.renew(leased, { dirty: true });
      assert.deepEqual([renewal.renewed, renewal.lost], [[leased.materialization_id], []]);
    }
    const { materialization } = await get(id);
    assert.deepEqual([materialization.status, materialization.dirty], ["live", true]);
  });

  test("an idle one is stopped, but not while somebody uses it", async () => {
    const { id } = await calls.create();
    await act(id, "materialize");
    const leased = await worker.take();
    await worker.live(leased);
    for (let passed = 0; passed < 2 * IDLE_MS; passed += 10_000) {
      clock.advance(10_000);
      await worker.renew(leased, { busy: true });
    }
    await letPass(1_200, "a sweep comes by meanwhile");
    assert.equal(await statusOf(id), "live");
    for (let passed = 0; passed <= IDLE_MS; passed += 10_000) {
      clock.advance(10_000);
      await worker.renew(leased);
    }
    const { stops } = await worker.poll({ wait: "10s", held: [held(leased)] });
    assert.equal(stops[0].mode, "commit");
    assert.equal((await worker.renew(leased)).stops.length, 1);
    // Wanted again while it stops: another one follows.
    await act(id, "materialize");
    await worker.stopped(leased);
    const next = await worker.take();
    assert.notEqual(next.materialization_id, leased.materialization_id);
  });

  test("one that is stopped again after it was wanted again stays stopped", async () => {
    const { id } = await calls.create();
    await act(id, "materialize");
    const leased = await worker.take();
    await worker.live(leased);
    const stops = [act(id, "stop")];
    assert.equal((await worker.poll({ wait: "10s", held: [held(leased)] })).stops.length, 1);
    assert.equal((await act(id, "materialize")).status, 202);
    stops.push(act(id, "stop"));
    await letPass(200, "the server has been told twice when its worker lets go");
    await worker.stopped(leased);
    for (const { status } of await Promise.all(stops)) assert.equal(status, 200);
    assert.deepEqual((await worker.poll({ limit: 5 })).materializations, []);
    assert.equal(await statusOf(id), "stopped");
  });

  test("a live workspace that is deleted is let go first, and commits nothing more", async () => {
    const { id } = await calls.create({ external_id: "mine" });
    await act(id, "materialize");
    const leased = await worker.take();
    await worker.live(leased);
    const deleting = await server.call("DELETE", `/api/workspaces/${id}`);
    assert.equal(deleting.body.status, "deleting");
    assert.equal((await act(id, "materialize")).status, 409);
    const { stops } = await worker.poll({ held: [held(leased)] });
    assert.equal(stops[0].mode, "discard");
    await worker.stopped(leased);
    assert.equal((await get(id)).status, "deleted");
    // A requested one is on no machine yet.
    const other = await calls.create({ external_id: "mine" });
    await act(other.id, "materialize");
    assert.equal((await server.call("DELETE", `/v1/workspaces/${other.id}`)).body.status, "deleted");
    assert.deepEqual((await worker.poll({ limit: 5 })).materializations, []);
  });

  test("a draining worker gets nothing new and is drained once it has let go", async () => {
    const { id } = await calls.create();
    const leaver = await startWorkspaceWorker(server);
    await act(id, "materialize");
    const leased = await leaver.take();
    assert.equal((await leaver.call("/drain", {})).body.status, "draining");
    await act((await calls.create()).id, "materialize");
    assert.deepEqual((await leaver.poll({ limit: 5, held: [held(leased)] })).materializations, []);
    assert.equal((await leaver.call("/heartbeat", {})).body.status, "draining");
    await leaver.stopped(leased);
    assert.equal((await leaver.call("/heartbeat", {})).body.status, "drained");
  });
});

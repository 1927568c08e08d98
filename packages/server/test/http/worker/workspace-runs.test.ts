import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { promote, createReadyDeployment } from "../../support/deploy.ts";
import { absentRunId, productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startDoubleWorker, type DoubleWorker } from "../../support/workspace-run-scene.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const MANIFEST = {
  tasks: [{ id: "plain" }, { id: "build", sandbox: "node" }, { id: "strict", sandbox: "strict" }],
  actors: [{ id: "chat", sandbox: "node" }],
  sandboxes: [
    { id: "node", env: { CI: "1" }, setup: ["make ready"] },
    { id: "strict", isolation: "namespace" },
  ],
};

let scene: RunScene;
let calls: WorkspaceCalls;
let here: DoubleWorker;
let there: DoubleWorker;
before(async () => {
  scene = await startRunScene(MANIFEST);
  calls = workspaceCalls(scene.server);
  here = await startDoubleWorker(scene);
  there = await startDoubleWorker(scene);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.cancelAll();
  for (const { runs } of [here, there]) await runs.releaseAll();
  const { body } = await scene.call("GET", "/api/workspaces?limit=200");
  for (const { id } of body.workspaces) await scene.call("DELETE", `/api/workspaces/${id}`);
  for (const { workspaces } of [here, there]) {
    const { materializations } = await workspaces.poll();
    for (const leased of materializations) await workspaces.stopped(leased);
  }
});

const ids = (leases: { runId: string }[]): string[] => leases.map(({ runId }) => runId);
const startIn = (workspace: Json, body: object = {}): Promise<Json> =>
  scene.start("plain", { workspace_id: workspace.id, ...body });
const reasonOf = async (run: Json): Promise<Json> => (await scene.get(run.id)).status_reason;
const statusOf = async (workspace: Json): Promise<string | undefined> =>
  (await scene.call("GET", `/api/workspaces/${workspace.id}`)).body.materialization?.status;

describe("a start that names a workspace", () => {
  test("takes an active one of its environment, and shows it", async () => {
    const workspace = await calls.create();
    const run = await startIn(workspace);
    assert.equal(run.workspace_id, workspace.id);
    assert.equal((await scene.get(run.id)).workspace_id, workspace.id);
    const answer = await scene.call("POST", "/api/sessions", {
      body: { task: "plain", workspace_id: workspace.id },
    });
    assert.deepEqual([answer.status, answer.body.workspace_id], [201, workspace.id]);
  });

  test("is refused alike for one that is foreign, absent or deleted, by every way to start", async () => {
    const production = await productionOf(scene);
    const { body: listed } = await production.call("GET", "/v1/sandboxes");
    const foreign = await production.call("POST", `/v1/sandboxes/${listed.sandboxes[0].id}/workspaces`, {
      body: {},
    });
    assert.equal(foreign.status, 201, foreign.text);
    const gone = await calls.create();
    await scene.call("DELETE", `/api/workspaces/${gone.id}`);
    const absent = encodeId("ws", "01900000-0000-7000-8000-000000000000");
    const starts: [string, (id: string) => object][] = [
      ["/v1/tasks/plain/start", (id) => ({ workspace_id: id })],
      ["/api/sessions", (id) => ({ task: "plain", workspace_id: id })],
      ["/v1/actors/chat/start", (id) => ({ workspace_id: id })],
    ];
    for (const [path, body] of starts) {
      const errors: Json[] = [];
      for (const id of [foreign.body.id, gone.id, absent]) {
        const { status, body: told } = await scene.call("POST", path, { body: body(id) });
        errors.push({ status, ...told.error, request_id: "" });
      }
      assert.deepEqual([errors[0].status, errors[0].code], [400, "invalid_request"]);
      assert.equal(errors[0].details.issues[0].path, "workspace_id");
      assert.deepEqual(errors[0], errors[1]);
      assert.deepEqual(errors[0], errors[2]);
    }
    const batch = await scene.call("POST", "/v1/tasks/start-batch", {
      body: { starts: [{ task: "plain" }, { task: "plain", workspace_id: absent }] },
    });
    assert.deepEqual(
      batch.body.results.map(({ status }: Json) => status),
      [201, 400],
    );
  });

  test("is repeated by its key although the workspace was deleted since", async () => {
    const workspace = await calls.create();
    const body = { workspace_id: workspace.id, idempotency_key: "in-a-workspace" };
    const first = await scene.start("plain", body);
    await scene.call("DELETE", `/api/workspaces/${workspace.id}`);
    assert.equal((await scene.start("plain", body)).id, first.id);
  });

  test("of a child run is an outcome that its caller can handle", async () => {
    const parent = await scene.start("plain");
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, parent.id);
    const workspace = await calls.create();
    const call = (position: number, id: string): Json =>
      lease.operation("child-runs", { position, task: "plain", workspace_id: id });
    const absent = encodeId("ws", "01900000-0000-7000-8000-000000000000");
    const [, started, refused] = await scene.worker.results(
      lease.operation("start"),
      call(1, workspace.id),
      call(2, absent),
    );
    assert.equal((await scene.get(started.result.value.id)).workspace_id, workspace.id);
    assert.equal(refused.result.error.code, "invalid_request");
  });
});

describe("a run in a workspace", () => {
  test("goes only to a worker that takes workspaces", async () => {
    const workspace = await calls.create();
    const run = await startIn(workspace);
    assert.deepEqual((await scene.worker.lease({ limit: 5 })).executions, []);
    const [lease] = await here.look();
    assert.deepEqual([lease?.runId, lease?.execution.run.workspace_id], [run.id, workspace.id]);
  });

  test("is not born leased to a worker that waits for any run", async () => {
    const requestId = "waits-for-any";
    const waiting = scene.worker.lease({ limit: 5, wait: "10s", requestId });
    await scene.worker.seesRequest(requestId);
    await startIn(await calls.create());
    const plain = await scene.start("plain");
    const { executions } = await waiting;
    assert.deepEqual(
      executions.map((execution: Json) => scene.worker.hold(execution).runId),
      [plain.id],
    );
  });

  test("attaches: its workspace becomes its worker's, once", async () => {
    const workspace = await calls.create();
    await calls.write(workspace.id, "a.txt", "one");
    await startIn(workspace);
    const lease = await here.runs.takeOne();
    const attached = await here.attach(lease);
    assert.equal(attached.status, 200, attached.text);
    const { materialization: leased } = attached.body;
    assert.deepEqual([leased.workspace_id, leased.status], [workspace.id, "preparing"]);
    assert.equal((await here.attach(lease)).text, attached.text);
    await here.workspaces.live(leased);
    assert.equal(await statusOf(workspace), "live");
    const shown = (await scene.call("GET", `/api/workspaces/${workspace.id}`)).body;
    assert.equal(shown.materialization.worker_id, here.runs.id);
    const { materializations } = await here.workspaces.poll();
    assert.deepEqual(
      materializations.map(({ epoch, status }: Json) => [epoch, status]),
      [[leased.epoch, "live"]],
    );
  });

  test("takes over what was requested and nobody has leased", async () => {
    const workspace = await calls.create();
    await scene.call("POST", `/api/workspaces/${workspace.id}/materialize`);
    assert.equal(await statusOf(workspace), "requested");
    await startIn(workspace);
    const { leased } = await here.begin();
    assert.deepEqual([leased.workspace_id, leased.epoch], [workspace.id, 1]);
    assert.equal(await statusOf(workspace), "live");
  });

  test("follows its workspace to the worker that has it, and says where it waits", async () => {
    const workspace = await calls.create();
    await startIn(workspace);
    await here.begin();
    const second = await startIn(workspace);
    assert.deepEqual(await there.look(), []);
    const reason = await reasonOf(second);
    assert.deepEqual(
      [reason.kind, reason.details.workspace_id, reason.details.worker_id],
      ["worker_busy", workspace.id, here.runs.id],
    );
    const { lease, leased } = await here.begin();
    assert.deepEqual([lease.runId, leased.status], [second.id, "live"]);
  });

  test("that was given to the wrong worker is handed back, and its attempt does not count", async () => {
    const workspace = await calls.create();
    const first = await startIn(workspace);
    const mine = await here.runs.takeOne();
    assert.equal(mine.runId, first.id);
    const second = await startIn(workspace);
    const theirs = await there.runs.takeOne();
    assert.equal(theirs.runId, second.id);
    assert.equal((await here.attach(mine)).status, 200);
    const refused = await there.attach(theirs);
    assert.deepEqual([refused.status, refused.body.error.code], [409, "workspace_busy"]);
    assert.deepEqual(await there.runs.report(theirs.operation("release", { outcome: "rejected" })), [200]);
    assert.deepEqual(await there.look(), []);
    const again = await here.runs.takeOne();
    assert.deepEqual([again.runId, again.execution.run.attempt_number], [second.id, 1]);
  });

  test("waits while its workspace is being stopped, then goes to any", async () => {
    const workspace = await calls.create();
    await startIn(workspace);
    const { lease, leased } = await here.begin();
    const busy = await scene.call("POST", `/api/workspaces/${workspace.id}/stop`);
    assert.deepEqual([busy.status, busy.body.error.code], [409, "workspace_busy"]);
    assert.deepEqual(await here.runs.report(lease.operation("release", { outcome: "succeeded" })), [200]);
    const stopping = scene.call("POST", `/api/workspaces/${workspace.id}/stop`);
    await until(
      "the workspace to be stopping",
      60_000,
      async () => (await statusOf(workspace)) === "stopping",
    );
    const run = await startIn(workspace);
    assert.match((await reasonOf(run)).message, /being stopped/);
    assert.deepEqual([...(await here.look()), ...(await there.look())], []);
    const polled = there.runs.lease({ limit: 1, wait: "30s" });
    await here.workspaces.stopped(leased);
    assert.equal((await stopping).status, 200);
    assert.deepEqual(
      (await polled).executions.map((execution: Json) => there.runs.hold(execution).runId),
      [run.id],
    );
  });

  test("is given to a worker only while it has room for another workspace", async () => {
    const workspaces = [await calls.create(), await calls.create(), await calls.create()];
    for (const workspace of workspaces) await startIn(workspace);
    assert.equal((await here.look()).length, 2);
    assert.deepEqual(await here.look(), []);
    assert.equal((await there.look()).length, 1);
  });

  test("shares a lease call with runs in none, and the call's repeat gives them all again", async () => {
    const workspace = await calls.create();
    const started = [await startIn(workspace), await scene.start("plain"), await startIn(workspace)];
    const requestId = "both-kinds";
    const first = await here.runs.lease({ limit: 10, requestId });
    const leases = first.executions.map((execution: Json) => here.runs.hold(execution));
    assert.deepEqual(new Set(ids(leases)), new Set(started.map(({ id }) => id)));
    const repeated = await here.runs.lease({ limit: 10, requestId });
    assert.deepEqual(
      new Set(repeated.executions.map(({ lease_id }: Json) => lease_id)),
      new Set(leases.map(({ execution }: Json) => execution.lease_id)),
    );
  });

  test("resumes after a suspended wait where its workspace is", async () => {
    const workspace = await calls.create();
    const run = await startIn(workspace);
    const { lease } = await here.begin();
    const waits = [{ position: 1, name: "nap", kind: "timer", timeout: "1s" }];
    const operations = [
      lease.operation("waits", { waits, parked: true }),
      lease.operation("checkpoints/ready"),
      lease.operation("release", { outcome: "suspended" }),
    ];
    assert.deepEqual(await here.runs.report(...operations), [200, 200, 200]);
    scene.clock.advance(1_500);
    await scene.happens(run.id, "wait.resolved");
    await until("the run to be queued", 60_000, async () => (await scene.get(run.id)).status === "queued");
    assert.deepEqual(await there.look(), []);
    const again = await here.begin();
    assert.deepEqual([again.lease.runId, again.lease.execution.run.attempt_number], [run.id, 1]);
  });
});

describe("attaching", () => {
  test("is for the worker that has the lease, under its newest epoch", async () => {
    await startIn(await calls.create());
    const lease = await here.runs.takeOne();
    for (const extra of [
      { epoch: 7 },
      { lease_id: encodeId("lease", "01900000-0000-7000-8000-000000000000") },
    ]) {
      const refused = await here.attach(lease, extra);
      assert.deepEqual([refused.status, refused.body.error.code], [409, "lease_lost"]);
    }
    const foreign = await there.attach(lease);
    assert.deepEqual([foreign.status, foreign.body.error.code], [409, "lease_lost"]);
    const absent = await here.attach(lease, { run_id: absentRunId(lease.runId) });
    assert.equal(absent.body.error.message, foreign.body.error.message);
  });

  test("says that a run has no workspace, or that it was deleted meanwhile", async () => {
    await scene.start("plain");
    const none = await here.attach(await here.runs.takeOne());
    assert.deepEqual([none.status, none.body.error.code], [409, "invalid_state"]);
    const workspace = await calls.create();
    await startIn(workspace);
    await scene.call("DELETE", `/api/workspaces/${workspace.id}`);
    const deleted = await here.attach(await here.runs.takeOne());
    assert.deepEqual([deleted.status, deleted.body.error.code], [409, "invalid_state"]);
    assert.match(deleted.body.error.message, /deleted/);
  });
});

describe("a run whose task declares a sandbox", () => {
  test("gets a workspace of its own, made when it is taken up first", async () => {
    const run = await scene.start("build");
    const shown = await scene.call("GET", `/api/workspaces/${run.workspace_id}`);
    assert.equal(shown.status, 404);
    const lease = await here.runs.takeOne();
    const attached = await here.attach(lease);
    assert.equal(attached.status, 200, attached.text);
    const { sandbox, setup } = attached.body.materialization;
    assert.deepEqual(
      [sandbox.declared_id, sandbox.env, setup.commands],
      ["node", { CI: "1" }, ["make ready"]],
    );
    const made = (await scene.call("GET", `/api/workspaces/${run.workspace_id}`)).body;
    assert.deepEqual([made.sandbox, made.status], ["node", "active"]);
    assert.notEqual((await scene.start("build")).workspace_id, run.workspace_id);
  });

  test("works in the one that its start names instead", async () => {
    const workspace = await calls.create();
    const run = await scene.start("build", { workspace_id: workspace.id });
    assert.equal(run.workspace_id, workspace.id);
  });

  test("has that of its own deployment, whatever is current by then", async () => {
    const run = await scene.start("build");
    const changed = { ...MANIFEST, sandboxes: [{ id: "node", env: { CI: "2" } }, { id: "strict" }] };
    await promote(scene.server, (await createReadyDeployment(scene.server, scene.worker.token, changed)).id);
    const lease = await here.runs.takeOne();
    assert.equal(lease.runId, run.id);
    assert.deepEqual((await here.attach(lease)).body.materialization.sandbox.env, { CI: "1" });
    await scene.deploy(MANIFEST);
  });

  test("waits for a worker whose isolation is strong enough", async () => {
    await here.workspaces.poll({ isolation: "process" });
    const run = await scene.start("strict");
    const weak = await here.runs.takeOne();
    const refused = await here.attach(weak);
    assert.deepEqual([refused.status, refused.body.error.code], [409, "workspace_busy"]);
    assert.deepEqual(await here.runs.report(weak.operation("release", { outcome: "rejected" })), [200]);
    // Its workspace was made, and says what it needs.
    await here.workspaces.poll({ isolation: "process" });
    await there.workspaces.poll({ isolation: "process" });
    assert.deepEqual(await here.look(), []);
    const reason = await reasonOf(run);
    assert.equal(reason.kind, "no_worker");
    assert.match(
      reason.message,
      /needs the isolation namespace, which no active worker of group \S+ can give/,
    );
    await there.workspaces.poll();
    assert.equal((await reasonOf(run)).kind, "worker_busy");
    const { lease } = await there.begin();
    assert.equal(lease.runId, run.id);
    await here.workspaces.poll();
  });

  test("shares that of its session", async () => {
    const started = await scene.call("POST", "/v1/actors/chat/start", { body: {} });
    assert.equal(started.status, 201, started.text);
    const { session, run } = started.body;
    assert.equal(session.workspace_id, run.workspace_id);
    assert.ok(run.workspace_id);
  });
});

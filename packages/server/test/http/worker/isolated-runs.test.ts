// Runs of tasks that need the namespace tier go to workers that confirmed it for tasks, and to no others.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { createBody } from "../../support/deploy.ts";
import { enrollWorker, type RawWorker } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startDoubleWorker, type DoubleWorker } from "../../support/workspace-run-scene.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const FOLDERS = [{ path: "/srv/models" }, { path: "/srv/out", writable: true }];
const MANIFEST = {
  tasks: [
    { id: "plain" },
    { id: "isolated", isolation: "namespace", folders: FOLDERS },
    { id: "boxed", isolation: "namespace", sandbox: "box" },
  ],
  actors: [{ id: "chat", isolation: "namespace" }],
  sandboxes: [{ id: "box" }],
};
const WHY = "bubblewrap is not installed.";
const STRONG = { task_isolation: "namespace" };
const WEAK = { task_isolation: "process", task_isolation_problem: WHY };

let scene: RunScene;
let weak: RawWorker;
let strong: RawWorker;

/** Registers again, as an agent does at its start. */
async function say(worker: RawWorker, said: object, workspaces = 0): Promise<void> {
  const capacity = { executions: 100, workspaces };
  const body = { capacity, worker_protocol_version: 1, ...said };
  assert.equal((await worker.call("POST", "/register", body)).status, 200);
  assert.equal((await worker.call("POST", "/activate")).status, 200);
}

const ids = async (worker: RawWorker): Promise<string[]> =>
  (await worker.lease({ limit: 10 })).executions.map((execution: Json) => worker.hold(execution).runId);
const reasonOf = async (run: Json): Promise<Json> => (await scene.get(run.id)).status_reason;

before(async () => {
  // Its first worker knows nothing of tiers for tasks, as an agent of an earlier version.
  scene = await startRunScene(MANIFEST);
  weak = await enrollWorker(scene.server);
  await say(weak, WEAK);
  strong = await enrollWorker(scene.server);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.cancelAll();
  for (const worker of [scene.worker, weak, strong]) await worker.releaseAll();
  await say(strong, {});
});

describe("a run of a task that needs the namespace tier", () => {
  test("is leased to a worker that confirmed it for tasks alone, with its folders", async () => {
    const [isolated, plain] = [await scene.start("isolated"), await scene.start("plain")];
    assert.deepEqual(await ids(scene.worker), [plain.id]);
    assert.deepEqual(await ids(weak), []);
    await say(strong, { isolation: "namespace" });
    assert.deepEqual(await ids(strong), []);
    await say(strong, STRONG);
    const lease = await strong.takeOne();
    assert.equal(lease.runId, isolated.id);
    assert.deepEqual(
      [lease.execution.entrypoint.isolation, lease.execution.entrypoint.folders],
      ["namespace", FOLDERS],
    );
  });

  test("says why it waits, and never that all slots are in use", async () => {
    const run = await scene.start("isolated");
    const reason = await reasonOf(run);
    assert.equal(reason.kind, "no_worker");
    assert.match(
      reason.message,
      /^The task needs the isolation namespace, which no active worker of group \S+ can give\. `keelson worker list` shows why\. Install bubblewrap/,
    );
    assert.equal(reason.details.required_isolation, "namespace");
    await say(strong, STRONG);
    const busy = await reasonOf(run);
    assert.equal(busy.kind, "worker_busy");
    assert.match(busy.message, /on the workers that can give the isolation namespace/);
    assert.equal((await reasonOf(await scene.start("plain"))).message, "All workers' slots are in use.");
  });

  test("is not born leased to a worker that waits for any run, and wakes one that may have it", async () => {
    await say(strong, STRONG);
    const requestId = "waits-without-the-tier";
    const waiting = weak.lease({ limit: 5, wait: "10s", requestId });
    await weak.seesRequest(requestId);
    const taking = strong.takeOne();
    const isolated = await scene.start("isolated");
    assert.equal((await taking).runId, isolated.id);
    const plain = await scene.start("plain");
    assert.deepEqual(
      (await waiting).executions.map((execution: Json) => weak.hold(execution).runId),
      [plain.id],
    );
  });

  test("needs it again after its worker was lost, whatever worker registers meanwhile", async () => {
    await say(strong, STRONG);
    const run = await scene.start("isolated");
    const lease = await strong.takeOne();
    assert.deepEqual(await strong.report(lease.operation("release", { outcome: "rejected" })), [200]);
    await say(strong, WEAK);
    assert.deepEqual([await ids(strong), await ids(weak), await ids(scene.worker)], [[], [], []]);
    assert.equal((await reasonOf(run)).kind, "no_worker");
  });

  test("does not hold up other runs, however many wait", async () => {
    for (let n = 0; n < 20; n += 1) await scene.start("isolated", { priority: 100 });
    const plain = await scene.start("plain");
    const { executions } = await weak.lease({ limit: 1 });
    assert.equal(weak.hold(executions[0]).runId, plain.id);
  });

  test("may be a turn of an actor", async () => {
    const { status, body } = await scene.call("POST", "/v1/actors/chat/start", { body: {} });
    assert.equal(status, 201);
    assert.deepEqual(await ids(weak), []);
    await say(strong, STRONG);
    assert.equal((await strong.takeOne()).runId, body.run.id);
  });
});

describe("one with a workspace", () => {
  let here: DoubleWorker;
  before(async () => {
    here = await startDoubleWorker(scene);
  });
  afterEach(async () => {
    await here.runs.releaseAll();
    await here.runs.call("POST", "/drain");
  });

  test("needs a worker that both takes workspaces and runs such tasks", async () => {
    await say(strong, STRONG);
    const run = await scene.start("boxed");
    assert.deepEqual([await ids(strong), await here.look()], [[], []]);
    const reason = await reasonOf(run);
    assert.equal(reason.kind, "no_worker");
    assert.match(
      reason.message,
      /both runs tasks with the isolation namespace and can take the run's workspace/,
    );
    await say(here.runs, STRONG, 2);
    const [lease] = await here.look();
    assert.equal(lease?.runId, run.id);
  });

  test("waits until its workspace is no longer live on a worker without the tier", async () => {
    await say(here.runs, WEAK, 2);
    const workspace = await workspaceCalls(scene.server).create();
    await scene.start("plain", { workspace_id: workspace.id });
    await here.begin();
    const run = await scene.start("isolated", { workspace_id: workspace.id });
    await say(strong, STRONG);
    assert.deepEqual([await here.look(), await ids(strong)], [[], []]);
    const reason = await reasonOf(run);
    assert.equal(reason.kind, "worker_busy");
    assert.match(reason.message, /live on a worker that runs no tasks with the isolation namespace/);
  });
});

test("a worker shows whether it runs tasks in the namespace tier, and why not", async () => {
  const shown = async (): Promise<unknown[]> => {
    const { body } = await scene.call("GET", `/admin/api/v1/workers/${strong.id}`, {
      as: scene.server.credentials.admin_key,
    });
    return [body.task_isolation, body.task_isolation_problem];
  };
  await say(strong, WEAK);
  assert.deepEqual(await shown(), ["process", WHY]);
  await say(strong, { ...STRONG, task_isolation_problem: WHY });
  assert.deepEqual(await shown(), ["namespace", null]);
  await say(strong, {});
  assert.deepEqual(await shown(), [null, null]);
});

test("a task shows the isolation and the folders that it declares", async () => {
  const { body } = await scene.call("GET", "/v1/tasks");
  const declared = Object.fromEntries(
    body.tasks.map(({ declared_id: id, isolation, folders }: Json) => [id, [isolation, folders]]),
  );
  assert.deepEqual(declared, {
    plain: ["process", []],
    isolated: ["namespace", FOLDERS],
    boxed: ["namespace", []],
  });
});

for (const [what, manifest, path] of [
  ["an unknown isolation", { tasks: [{ id: "a", isolation: "virtual" }] }, "manifest.tasks.0.isolation"],
  [
    "folders in the process tier",
    { tasks: [{ id: "a", folders: [{ path: "/srv" }] }] },
    "manifest.tasks.0.folders",
  ],
  ...(
    [
      ["a relative folder", "srv/x"],
      ["a folder with an empty part", "//srv"],
      ["a folder with .. in it", "/srv/../etc"],
      ["a folder of the kernel", "/proc/1"],
      ["a slash at the end of a folder", "/srv/"],
      ["a folder past the longest path", `/${"x/".repeat(2_047)}x`],
    ] as const
  ).map(([name, path]) => [
    name,
    { tasks: [{ id: "a", isolation: "namespace", folders: [{ path: "/srv/a" }, { path }] }] },
    "manifest.tasks.0.folders.1.path",
  ]),
  [
    "a folder declared twice",
    {
      tasks: [],
      actors: [
        { id: "a", isolation: "namespace", folders: [{ path: "/srv" }, { path: "/srv", writable: true }] },
      ],
    },
    "manifest.actors.0.folders.1.path",
  ],
] as [string, Json, string][]) {
  test(`a deployment with ${what} is refused`, async () => {
    const answer = await scene.call("POST", "/v1/deployments", { body: createBody(manifest) });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"], answer.text);
    assert.equal(answer.body.error.details.issues[0].path, path);
  });
}

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startDoubleWorker, type DoubleWorker } from "../../support/workspace-run-scene.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
let calls: WorkspaceCalls;
let worker: DoubleWorker;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  calls = workspaceCalls(scene.server);
  worker = await startDoubleWorker(scene, 100);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.cancelAll();
  await worker.runs.releaseAll();
});

type Begun = { workspace: Json; run: Json; lease: HeldLease; leased: Json };

async function begun(): Promise<Begun> {
  const workspace = await calls.create();
  const run = await scene.start("plain", { workspace_id: workspace.id });
  return { workspace, run, ...(await worker.begin()) };
}

const command = { name: "npm test", command: ["npm", "test"] };
const held = (leased: Json, processes: Json[] = []): Json => ({
  ...worker.workspaces.fields(leased),
  stopping: false,
  processes,
});
/** What the poll for workspaces brings of this one; those that earlier tests left are answered at once. */
async function given(part: "processes" | "controls", leased: Json, processes: Json[] = []): Promise<Json[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    assert.ok(performance.now() < deadline, `The poll brought no ${part}.`);
    const answer = await worker.workspaces.poll({ wait: "1s", held: [held(leased, processes)] });
    const own = answer[part].filter(
      ({ process_id: id, materialization_id: materialization }: Json) =>
        materialization === leased.materialization_id || processes.some((one) => one.process_id === id),
    );
    if (own.length > 0) return own;
  }
}
const read = (lease: HeldLease, process: string, wait = "0s") =>
  worker.workspaces.call("/workspaces/processes/result", {
    ...lease.fields,
    process_id: process,
    wait,
  });
const say = async (what: string, leased: Json, process: string, extra: object = {}): Promise<void> => {
  const fields = { ...worker.workspaces.fields(leased), process_id: process };
  const answer = await worker.workspaces.call(`/workspaces/processes/${what}`, { ...fields, ...extra });
  assert.equal(answer.status, 200, answer.text);
};

describe("a command of a run", () => {
  test("is an exec of its workspace, made once, and its id is in the run's journal", async () => {
    const { workspace, lease, leased } = await begun();
    const operation = lease.operation("execs", {
      position: 1,
      ...command,
      env: { CI: "1" },
      timeout: "90s",
    });
    const [first] = await worker.runs.results(operation);
    assert.equal(first.status, 200, JSON.stringify(first));
    const [again] = await worker.runs.results(operation);
    assert.deepEqual(again, first);
    const { body } = await scene.call("GET", `/api/workspaces/${workspace.id}/execs`);
    assert.equal(body.execs.length, 1);
    const [exec] = body.execs;
    assert.deepEqual(
      [exec.id, exec.command, exec.env_names, exec.timeout, exec.stdin],
      [first.result.value.id, command.command, ["CI"], "90s", { bytes: 0, closed: true }],
    );
    assert.deepEqual(
      (await given("processes", leased)).map(({ process_id }: Json) => process_id),
      [exec.id],
    );
    await worker.runs.report(lease.operation("release", { outcome: "rejected" }));
    const resumed = await worker.runs.takeOne();
    assert.deepEqual(
      resumed.execution.journal.map(({ kind, name, value }: Json) => ({ kind, name, value })),
      [{ kind: "exec", name: command.name, value: { id: exec.id } }],
    );
  });

  test("is told how it ended as soon as it has, with what it wrote, as often as it asks", async () => {
    const { lease, leased } = await begun();
    const [{ result }] = await worker.runs.results(lease.operation("execs", { position: 1, ...command }));
    const { id } = result.value;
    const before = await read(lease, id);
    assert.deepEqual([before.status, before.body.status, before.body.stdout], [200, "pending", ""]);
    const waiting = read(lease, id, "30s");
    await say("started", leased, id);
    const data = Buffer.from("fine").toString("base64");
    const at = "2026-11-20T09:15:00.123Z";
    await say("output", leased, id, { chunks: [{ stream: "stdout", offset: 0, data, at }] });
    await say("ended", leased, id, { outcome: "exited", exit_code: 3 });
    const ended = await waiting;
    assert.deepEqual(
      [ended.status, ended.body.status, ended.body.exit_code, ended.body.stdout],
      [200, "exited", 3, data],
    );
    assert.deepEqual((await read(lease, id)).body, ended.body);
  });

  test("that still runs when the run has ended is ended with it", async () => {
    const { lease, leased } = await begun();
    const [{ result }] = await worker.runs.results(lease.operation("execs", { position: 1, ...command }));
    const { id } = result.value;
    await say("started", leased, id);
    assert.deepEqual(await worker.runs.report(lease.operation("release", { outcome: "succeeded" })), [200]);
    const process = { process_id: id, input_offset: 0, input_closed: true, control_sequence: 0 };
    assert.deepEqual(
      (await given("controls", leased, [process])).map(({ process_id, kind, signal }: Json) => [
        process_id,
        kind,
        signal,
      ]),
      [[id, "signal", "SIGKILL"]],
    );
  });

  test("that cannot be made is an outcome of the call", async () => {
    const { lease } = await begun();
    const outcomes = await worker.runs.results(
      lease.operation("execs", { position: 1, ...command, cwd: "../up" }),
      lease.operation("execs", { position: 2, ...command, stdin: "no base64!" }),
      lease.operation("execs", { position: 3, ...command, timeout: "8d" }),
    );
    assert.deepEqual(
      outcomes.map(({ status, result }: Json) => [status, result.error.code]),
      [
        [200, "invalid_path"],
        [200, "invalid_request"],
        [200, "invalid_request"],
      ],
    );
  });

  test("needs a workspace", async () => {
    await scene.start("plain");
    const lease = await worker.runs.takeOne();
    assert.deepEqual(
      await worker.runs.report(
        lease.operation("start"),
        lease.operation("execs", { position: 1, ...command }),
      ),
      [200, "invalid_state"],
    );
  });

  test("is refused like a lost lease when the worker has lost the workspace", async () => {
    const { workspace, lease, leased } = await begun();
    const failed = { ...worker.workspaces.fields(leased), error: { message: "the disk is gone" } };
    assert.equal((await worker.workspaces.call("/workspaces/failed", failed)).status, 200);
    assert.deepEqual(await worker.runs.report(lease.operation("execs", { position: 1, ...command })), [
      "lease_lost",
    ]);
    const { body } = await scene.call("GET", `/api/workspaces/${workspace.id}/execs`);
    assert.deepEqual(body.execs, []);
  });

  test("is another run's to nobody: a lease reads only commands of its own workspace", async () => {
    const { lease } = await begun();
    const [{ result }] = await worker.runs.results(lease.operation("execs", { position: 1, ...command }));
    const other = await begun();
    const foreign = await read(other.lease, result.value.id);
    assert.deepEqual([foreign.status, foreign.body.error.code], [404, "not_found"]);
    await worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
    const late = await read(lease, result.value.id);
    assert.deepEqual([late.status, late.body.error.code], [409, "lease_lost"]);
  });
});

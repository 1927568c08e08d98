import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startWorkspaceRunScene, type WorkspaceRunScene } from "../../support/workspace-run-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let site: WorkspaceRunScene;
before(async () => (site = await startWorkspaceRunScene()));
after(() => site.scene.stop());
afterEach(() => site.endAll());

const command = { name: "npm test", command: ["npm", "test"] };
const held = (leased: Json, processes: Json[] = []): Json => ({
  ...site.worker.workspaces.fields(leased),
  stopping: false,
  processes,
});
/** What the poll for workspaces brings of this one; those that earlier tests left are answered at once. */
async function given(part: "processes" | "controls", leased: Json, processes: Json[] = []): Promise<Json[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    assert.ok(performance.now() < deadline, `The poll brought no ${part}.`);
    const answer = await site.worker.workspaces.poll({ wait: "1s", held: [held(leased, processes)] });
    const own = answer[part].filter(
      ({ process_id: id, materialization_id: materialization }: Json) =>
        materialization === leased.materialization_id || processes.some((one) => one.process_id === id),
    );
    if (own.length > 0) return own;
  }
}
const read = (lease: HeldLease, process: string, wait = "0s") =>
  site.worker.workspaces.call("/workspaces/processes/result", {
    ...lease.fields,
    process_id: process,
    wait,
  });
const say = async (what: string, leased: Json, process: string, extra: object = {}): Promise<void> => {
  const fields = { ...site.worker.workspaces.fields(leased), process_id: process };
  const answer = await site.worker.workspaces.call(`/workspaces/processes/${what}`, { ...fields, ...extra });
  assert.equal(answer.status, 200, answer.text);
};

describe("a command of a run", () => {
  test("is an exec of its workspace, made once, and its id is in the run's journal", async () => {
    const { workspace, lease, leased } = await site.begun();
    const operation = lease.operation("execs", {
      position: 1,
      ...command,
      env: { CI: "1" },
      timeout: "90s",
    });
    const [first] = await site.worker.runs.results(operation);
    assert.equal(first.status, 200, JSON.stringify(first));
    const [again] = await site.worker.runs.results(operation);
    assert.deepEqual(again, first);
    const { body } = await site.scene.call("GET", `/api/workspaces/${workspace.id}/execs`);
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
    await site.worker.runs.report(lease.operation("release", { outcome: "rejected" }));
    const resumed = await site.worker.runs.takeOne();
    assert.deepEqual(
      resumed.execution.journal.map(({ kind, name, value }: Json) => ({ kind, name, value })),
      [{ kind: "exec", name: command.name, value: { id: exec.id } }],
    );
  });

  test("is told how it ended as soon as it has, with what it wrote, as often as it asks", async () => {
    const { lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
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
    const { lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    await say("started", leased, id);
    assert.deepEqual(
      await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" })),
      [200],
    );
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

  test("that still runs when the run continues with an empty journal is ended, and the workspace stays", async () => {
    const { workspace, lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    await say("started", leased, id);
    const statuses = await site.worker.runs.report(
      lease.operation("release", { outcome: "continued", payload: 2 }),
    );
    assert.deepEqual(statuses, [200]);
    const process = { process_id: id, input_offset: 0, input_closed: true, control_sequence: 0 };
    const [control] = await given("controls", leased, [process]);
    assert.deepEqual([control.process_id, control.signal], [id, "SIGKILL"]);
    site.scene.clock.advance(1_000);
    const { execution } = await site.worker.runs.takeOne();
    assert.deepEqual(
      [execution.run.id, execution.run.payload, execution.run.workspace_id, execution.journal],
      [lease.runId, 2, workspace.id, []],
    );
  });

  const execOf = async (workspace: Json, id: string): Promise<Json> =>
    (await site.scene.call("GET", `/api/workspaces/${workspace.id}/execs/${id}`)).body;
  const output = (text: string, offset = 0): object => ({
    chunks: [
      {
        ...{ stream: "stdout", offset, data: Buffer.from(text).toString("base64") },
        at: "2026-11-20T09:15:00.123Z",
      },
    ],
  });
  const lose = async (leased: Json): Promise<void> => {
    const failed = { ...site.worker.workspaces.fields(leased), error: { message: "the supervisor ended" } };
    assert.equal((await site.worker.workspaces.call("/workspaces/failed", failed)).status, 200);
  };
  const goOn = async (lease: HeldLease): Promise<{ lease: HeldLease; leased: Json }> => {
    assert.deepEqual(
      await site.worker.runs.report(lease.operation("release", { outcome: "rejected" })),
      [200],
    );
    return site.worker.begin();
  };
  const pieces = ({ process_id, status, env, stored }: Json): Json => ({ process_id, status, env, stored });

  test("that infrastructure took runs again under its id, with its input, once its run asks for it", async () => {
    const { workspace, lease, leased } = await site.begun();
    const operation = lease.operation("execs", {
      ...{ position: 1, ...command, env: { CI: "1" } },
      stdin: Buffer.from("input").toString("base64"),
    });
    const [{ result }] = await site.worker.runs.results(operation);
    const { id } = result.value;
    await say("started", leased, id);
    await say("output", leased, id, output("half "));
    const taken = { process_id: id, input_offset: 5, input_closed: true, control_sequence: 0 };
    await site.worker.workspaces.poll({ held: [held(leased, [taken])] });
    await lose(leased);
    const waiting = await execOf(workspace, id);
    assert.deepEqual([waiting.status, waiting.reruns, waiting.on_lost], ["pending", 1, "rerun"]);

    const next = await goOn(lease);
    assert.deepEqual(
      next.lease.execution.journal.map(({ value }: Json) => value),
      [{ id }],
    );
    // Before the replayed code has come to it, nothing is started.
    const { processes } = await site.worker.workspaces.poll({ held: [held(next.leased)] });
    assert.ok(!processes.some(({ process_id }: Json) => process_id === id));
    assert.equal((await read(next.lease, id)).body.status, "pending");
    const [start] = await given("processes", next.leased);
    assert.deepEqual(pieces(start), {
      ...{ process_id: id, status: "pending", env: { CI: "1" } },
      stored: { stdout: 0, stderr: 0, output: 0 },
    });
    const fresh = { process_id: id, input_offset: 0, input_closed: false, control_sequence: 0 };
    const { inputs } = await site.worker.workspaces.poll({ held: [held(next.leased, [fresh])] });
    assert.deepEqual(
      inputs.map(({ offset, data, closed }: Json) => [
        offset,
        Buffer.from(data, "base64").toString(),
        closed,
      ]),
      [[0, "input", true]],
    );
    await say("started", next.leased, id);
    await say("output", next.leased, id, output("whole"));
    await say("ended", next.leased, id, { outcome: "exited", exit_code: 0 });
    const { body } = await read(next.lease, id);
    assert.deepEqual(
      [body.status, body.exit_code, Buffer.from(body.stdout, "base64").toString(), body.stdout_truncated],
      ["exited", 0, "whole", false],
    );
    const { stdout } = await execOf(workspace, id);
    assert.deepEqual(stdout, { bytes: 10, earliest_cursor: "5" });
    await site.worker.runs.report(next.lease.operation("release", { outcome: "succeeded" }));
  });

  test("that infrastructure took too often is lost", async () => {
    const { workspace, lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    for (let number = 1; number <= 6; number += 1) {
      await say("started", leased, id);
      await say("ended", leased, id, { outcome: "lost", error: { message: "no process could be started" } });
      const { status, reruns } = await execOf(workspace, id);
      assert.deepEqual([status, reruns], number === 6 ? ["lost", 5] : ["pending", number]);
      assert.equal((await read(lease, id)).body.status, status);
    }
    await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("that was sent a signal, or is to reject, is lost with its machine", async () => {
    const { workspace, lease, leased } = await site.begun();
    const made = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
      lease.operation("execs", { position: 2, ...command, on_lost: "reject" }),
    );
    const ids = made.map(({ result }: Json) => result.value.id);
    for (const id of ids) await say("started", leased, id);
    await site.scene.call("POST", `/api/workspaces/${workspace.id}/execs/${ids[0]}/signal`, {
      body: { signal: "SIGTERM" },
    });
    await lose(leased);
    for (const id of ids) assert.equal((await execOf(workspace, id)).status, "lost");
    await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("whose changes are in a version has ended with it, also when its machine is lost before it says so", async () => {
    const { workspace, lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    await say("started", leased, id);
    const end = { process_id: id, outcome: "exited", exit_code: 3, signal: null, timed_out: false };
    const committed = await site.worker.workspaces.commit(
      ...([leased, leased.base.version_id, { "made.txt": "once" }] as const),
      { cause: { kind: "exec", id }, ended: [end] },
    );
    assert.equal(committed.status, 200, committed.text);
    await lose(leased);
    const exec = await execOf(workspace, id);
    assert.deepEqual(
      [exec.status, exec.exit_code, exec.reruns, exec.version_id],
      ["exited", 3, 0, committed.body.version.id],
    );
    const next = await goOn(lease);
    assert.equal((await read(next.lease, id)).body.exit_code, 3);
    await site.worker.runs.report(next.lease.operation("release", { outcome: "succeeded" }));
  });

  test("that the worker's own stop cut off runs again", async () => {
    const { workspace, lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    await say("started", leased, id);
    await say("ended", leased, id, { outcome: "cancelled", signal: "SIGTERM" });
    assert.equal((await execOf(workspace, id)).status, "pending");
    await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("that waits to run again ends with its run", async () => {
    const { workspace, run, lease, leased } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const { id } = result.value;
    await say("started", leased, id);
    await lose(leased);
    assert.deepEqual(
      await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" })),
      [200],
    );
    await site.scene.happens(run.id, "run.succeeded");
    for (;;) if ((await execOf(workspace, id)).status === "cancelled") break;
  });

  test("of no run is started again by itself, where it is to be, until a caller stops its workspace", async () => {
    const workspace = await site.calls.create();
    const created = await site.scene.call("POST", `/api/workspaces/${workspace.id}/execs`, {
      body: { command: ["make"], on_lost: "rerun" },
    });
    assert.equal(created.status, 201, created.text);
    assert.deepEqual(created.body.stdin, { bytes: 0, closed: true });
    const { id } = created.body;
    /** Others are given too that earlier tests left. */
    const take = async (): Promise<Json> => {
      for (;;) {
        const { materializations } = await site.worker.workspaces.poll({ limit: 50, wait: "1s" });
        const own = materializations.find(({ workspace_id }: Json) => workspace_id === workspace.id);
        if (own !== undefined) return own;
      }
    };
    const leased = await take();
    await site.worker.workspaces.live(leased);
    await given("processes", leased);
    await say("started", leased, id);
    await lose(leased);
    assert.equal((await execOf(workspace, id)).status, "pending");
    const again = await take();
    await site.worker.workspaces.live(again);
    assert.equal((await given("processes", again))[0].process_id, id);
    await say("started", again, id);
    const stopping = site.scene.call("POST", `/api/workspaces/${workspace.id}/stop`);
    for (;;) {
      const { body } = await site.scene.call("GET", `/api/workspaces/${workspace.id}`);
      if (body.materialization.status === "stopping") break;
    }
    await say("ended", again, id, { outcome: "cancelled", signal: "SIGTERM" });
    assert.equal((await execOf(workspace, id)).status, "cancelled");
    await site.worker.workspaces.stopped(again);
    assert.equal((await stopping).status, 200);
  });

  test("that cannot be made is an outcome of the call", async () => {
    const { lease } = await site.begun();
    const outcomes = await site.worker.runs.results(
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
    await site.scene.start("plain");
    const lease = await site.worker.runs.takeOne();
    assert.deepEqual(
      await site.worker.runs.report(
        lease.operation("start"),
        lease.operation("execs", { position: 1, ...command }),
      ),
      [200, "invalid_state"],
    );
  });

  test("is refused like a lost lease when the worker has lost the workspace", async () => {
    const { workspace, lease, leased } = await site.begun();
    const failed = { ...site.worker.workspaces.fields(leased), error: { message: "the disk is gone" } };
    assert.equal((await site.worker.workspaces.call("/workspaces/failed", failed)).status, 200);
    assert.deepEqual(await site.worker.runs.report(lease.operation("execs", { position: 1, ...command })), [
      "lease_lost",
    ]);
    const { body } = await site.scene.call("GET", `/api/workspaces/${workspace.id}/execs`);
    assert.deepEqual(body.execs, []);
  });

  test("is another run's to nobody: a lease reads only commands of its own workspace", async () => {
    const { lease } = await site.begun();
    const [{ result }] = await site.worker.runs.results(
      lease.operation("execs", { position: 1, ...command }),
    );
    const other = await site.begun();
    const foreign = await read(other.lease, result.value.id);
    assert.deepEqual([foreign.status, foreign.body.error.code], [404, "not_found"]);
    await site.worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
    const late = await read(lease, result.value.id);
    assert.deepEqual([late.status, late.body.error.code], [409, "lease_lost"]);
  });
});

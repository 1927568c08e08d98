import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const AT = "2026-11-20T09:15:00.123Z";
const base64 = (text: string | Buffer): string => Buffer.from(text).toString("base64");

describe("execs and PTYs", () => {
  const clock = createTestClock();
  let server: ApiServer;
  let calls: WorkspaceCalls;
  let worker: WorkspaceWorker;
  before(async () => {
    server = await startApiServer({ clock: clock.now });
    calls = workspaceCalls(server);
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());

  const at = (id: string, rest: string): string => `/api/workspaces/${id}${rest}`;
  const post = (path: string, body: object = {}) => server.call("POST", path, { body });

  /** A workspace with a process, which its worker has. */
  async function begin(kind: "execs" | "pty", body: object): Promise<Scene> {
    const { id } = await calls.create();
    const created = await post(at(id, `/${kind}`), body);
    assert.equal(created.status, 201, created.text);
    assert.equal(created.body.status, "pending");
    const leased = await worker.take({ held: [] });
    await worker.live(leased);
    const known: Json[] = [];
    const held = () => [{ ...worker.fields(leased), stopping: false, processes: known }];
    const poll = (wait = "10s") => worker.poll({ wait, held: held() });
    const { processes } = await poll();
    assert.equal(processes.length, 1);
    const process_id = created.body.id as string;
    const item = { process_id, input_offset: 0, input_closed: false, control_sequence: 0 };
    known.push(item);
    const report = (what: string, extra: object = {}) =>
      worker.call(`/workspaces/processes/${what}`, { ...worker.fields(leased), process_id, ...extra });
    const path = at(id, `/${kind}/${process_id}`);
    return { id, path, process_id, leased, start: processes[0], item, poll, report };
  }
  type Scene = {
    id: string;
    path: string;
    process_id: string;
    leased: Json;
    start: Json;
    item: Json;
    poll(wait?: string): Promise<Json>;
    report(what: string, extra?: object): Promise<Json>;
  };
  const finish = async ({ leased }: Scene) => worker.stopped(leased);
  const chunk = (stream: string, offset: number, text: string | Buffer) => ({
    stream,
    offset,
    data: base64(text),
    at: AT,
  });

  async function checkOutput(scene: Scene): Promise<void> {
    const out = await server.call("GET", `${scene.path}/stdout?cursor=2`);
    assert.deepEqual(
      [
        out.body.chunks.map((c: Json) => [c.offset, Buffer.from(c.data, "base64").toString()]),
        out.body.next_cursor,
        out.body.ended,
      ],
      [
        [
          [2, "l"],
          [3, "lo"],
          [5, "!"],
        ],
        null,
        true,
      ],
    );
    const events = await server.call("GET", `${scene.path}/stderr?follow=1`);
    assert.match(events.text, /id: 2\nevent: chunk\n/);
    assert.match(events.text, /event: end/);
  }

  test("an exec waits for its workspace, runs, says what it said and leaves a version", async () => {
    const scene = await begin("execs", {
      command: ["sh", "-c", "cat; echo b >&2"],
      env: { TOKEN: "private value" },
      cwd: "",
      timeout: "5m",
      stdin: base64("hello"),
    });
    assert.deepEqual(
      [scene.start.kind, scene.start.command, scene.start.env, scene.start.timeout, scene.start.status],
      ["exec", ["sh", "-c", "cat; echo b >&2"], { TOKEN: "private value" }, "5m", "pending"],
    );
    assert.equal((await scene.report("started")).status, 200);
    assert.deepEqual((await scene.poll()).inputs, [
      { process_id: scene.process_id, offset: 0, data: base64("hello"), closed: true },
    ]);
    const chunks = [chunk("stdout", 0, "hel"), chunk("stdout", 3, "lo"), chunk("stderr", 0, "b\n")];
    const stored = await scene.report("output", { chunks });
    assert.deepEqual(stored.body, { stdout: 5, stderr: 2, output: 0 });
    // Sent again after a lost answer, with more: only what is new is stored.
    assert.deepEqual((await scene.report("output", { chunks: [chunk("stdout", 3, "lo!")] })).body.stdout, 6);
    const gap = await scene.report("output", { chunks: [chunk("stdout", 9, "x")] });
    assert.deepEqual([gap.status, gap.body.error.code], [409, "offset_mismatch"]);
    const committed = await worker.commit(
      scene.leased,
      scene.leased.base.version_id,
      { out: "x" },
      {
        cause: { kind: "exec", id: scene.process_id },
      },
    );
    const end = { outcome: "exited", exit_code: 3, version_id: committed.body.version.id };
    const both = await scene.report("ended", { ...end, signal: "SIGTERM" });
    assert.equal(both.status, 400);
    assert.equal((await scene.report("ended", end)).status, 200);
    assert.equal((await scene.report("ended", { outcome: "lost" })).status, 200);
    const { body } = await server.call("GET", scene.path);
    assert.deepEqual(
      [
        body.status,
        body.exit_code,
        body.signal,
        body.version_id,
        body.env_names,
        body.stdin,
        body.stdout.bytes,
      ],
      ["exited", 3, null, committed.body.version.id, ["TOKEN"], { bytes: 5, closed: true }, 6],
    );
    await checkOutput(scene);
    const listed = await server.call("GET", at(scene.id, "/execs"));
    assert.deepEqual(listed.body.execs, [body]);
    const [kept] = await server.db.query<{ env: string | null }>(sql`SELECT env FROM processes LIMIT 1`);
    assert.equal(kept?.env, null);
    await finish(scene);
  });

  test("stdin is taken in order, once, and closed", async () => {
    const scene = await begin("execs", { command: ["cat"] });
    await scene.report("started");
    const stdin = `${scene.path}/stdin`;
    assert.deepEqual((await post(stdin, { data: base64("one"), offset: 0 })).body, { offset: 3 });
    const repeated = await post(stdin, { data: base64("one"), offset: 0 });
    assert.deepEqual([repeated.status, repeated.body.error.details], [409, { offset: 3 }]);
    const raw = await server.call("POST", stdin, { bytes: Buffer.from([0, 255]) });
    assert.deepEqual(raw.body, { offset: 5 });
    assert.equal((await post(stdin, { data: "not base64!" })).status, 400);
    const large = await server.call("POST", stdin, { bytes: Buffer.alloc(256 * 1024 + 1) });
    assert.equal(large.status, 413);
    const { inputs } = await scene.poll();
    assert.deepEqual(
      [inputs[0].offset, Buffer.from(inputs[0].data, "base64")],
      [0, Buffer.from("one\0\xff", "latin1")],
    );
    scene.item.input_offset = 4;
    assert.deepEqual((await post(`${stdin}/close`)).body, { offset: 5 });
    const rest = (await scene.poll()).inputs[0];
    assert.deepEqual([rest.offset, rest.data, rest.closed], [4, base64(Buffer.from([255])), true]);
    const late = await post(stdin, { data: base64("x") });
    assert.deepEqual([late.status, late.body.error.code], [409, "invalid_state"]);
    await scene.report("ended", { outcome: "exited", signal: "SIGTERM" });
    assert.equal((await server.call("GET", scene.path)).body.signal, "SIGTERM");
    await finish(scene);
  });

  test("signals come in order and once; one that has not begun is cancelled by them", async () => {
    const scene = await begin("execs", { command: ["sleep", "9"] });
    await scene.report("started");
    for (const signal of ["SIGINT", "SIGKILL"]) await post(`${scene.path}/signal`, { signal });
    const { controls } = await scene.poll();
    assert.deepEqual(
      controls.map(({ sequence, kind, signal }: Json) => [sequence, kind, signal]),
      [
        [1, "signal", "SIGINT"],
        [2, "signal", "SIGKILL"],
      ],
    );
    scene.item.control_sequence = 2;
    assert.deepEqual((await scene.poll("0s")).controls, []);
    assert.equal((await post(`${scene.path}/signal`, { signal: "SIGNOT" })).status, 400);
    const waiting = await post(at((await calls.create()).id, "/execs"), { command: ["true"] });
    const cancelled = await post(at(waiting.body.workspace_id, `/execs/${waiting.body.id}/signal`), {
      signal: "SIGTERM",
    });
    assert.equal(cancelled.body.status, "cancelled");
    await server.call("DELETE", at(waiting.body.workspace_id, ""));
    await scene.report("ended", { outcome: "exited", signal: "SIGKILL" });
    await finish(scene);
  });

  test("a terminal is typed into, resized, read by cursor and closed", async () => {
    const scene = await begin("pty", { cols: 100 });
    assert.deepEqual([scene.start.command, scene.start.cols, scene.start.rows], [null, 100, 24]);
    await scene.report("started");
    await server.call("POST", `${scene.path}/input`, { bytes: Buffer.from("ls\r") });
    await post(`${scene.path}/resize`, { cols: 50, rows: 20 });
    const { inputs, controls } = await scene.poll();
    assert.equal(Buffer.from(inputs[0].data, "base64").toString(), "ls\r");
    assert.deepEqual([controls[0].kind, controls[0].cols, controls[0].rows], ["resize", 50, 20]);
    const repeated = await post(`${scene.path}/input`, { data: base64("ls\r"), offset: 0 });
    assert.deepEqual([repeated.status, repeated.body.error.details], [409, { offset: 3 }]);
    assert.deepEqual((await server.call("GET", scene.path)).body.input, { bytes: 3 });
    scene.item.input_offset = 3;
    scene.item.control_sequence = 1;
    const wrong = await scene.report("output", { chunks: [chunk("stdout", 0, "x")] });
    assert.equal(wrong.status, 400);
    const bytes = Buffer.from([27, 91, 0, 255, 128]);
    assert.deepEqual((await scene.report("output", { chunks: [chunk("output", 0, bytes)] })).body, {
      stdout: 0,
      stderr: 0,
      output: 5,
    });
    const page = await server.call("GET", `${scene.path}/output?cursor=3`);
    assert.deepEqual(
      [page.body.chunks[0].data, page.body.next_cursor, page.body.ended],
      [base64(bytes.subarray(3)), "5", false],
    );
    await post(`${scene.path}/close`);
    assert.equal((await scene.poll()).controls[0].kind, "close");
    await scene.report("ended", { outcome: "closed" });
    assert.deepEqual((await post(`${scene.path}/close`)).body.status, "closed");
    assert.deepEqual([(await server.call("GET", scene.path)).body.cols], [50]);
    await finish(scene);
  });

  test("a follower sees output as it comes and the end; the oldest output goes and says so", async () => {
    const scene = await begin("execs", { command: ["yes"] });
    await scene.report("started");
    const following = server.call("GET", `${scene.path}/stdout?follow=1`);
    const block = Buffer.alloc(1024 * 1024, "y\n");
    for (let i = 0; i < 14; i += 1) {
      const answer = await scene.report("output", { chunks: [chunk("stdout", i * block.length, block)] });
      assert.equal(answer.status, 200, answer.text);
    }
    await scene.report("output", { chunks: [chunk("stdout", 14 * block.length, "last line\n")] });
    await scene.report("ended", { outcome: "exited", exit_code: 0 });
    const { text } = await following;
    assert.match(text, /"status":"exited","exit_code":0/);
    assert.match(text, new RegExp(`id: ${14 * block.length + 10}\\n`));
    const { body } = await server.call("GET", scene.path);
    const earliest = Number(body.stdout.earliest_cursor);
    assert.ok(earliest > 0 && body.stdout.bytes - earliest >= 8 * 1024 * 1024, `${earliest}`);
    const expired = await server.call("GET", `${scene.path}/stdout?cursor=5`);
    assert.deepEqual(
      [expired.status, expired.body.error.details],
      [410, { earliest_cursor: String(earliest) }],
    );
    const gap = await server.call("GET", `${scene.path}/stdout?follow=1`, {
      headers: { "last-event-id": "5" },
    });
    assert.match(gap.text, /event: gap/);
    const first = await server.call("GET", `${scene.path}/stdout`);
    assert.equal(first.body.chunks[0].offset, earliest);
    await finish(scene);
  });

  test("what ran on a lost machine is lost, and what waits begins on the next", async () => {
    const scene = await begin("execs", { command: ["sleep", "100"] });
    await scene.report("started");
    const waiting = await post(at(scene.id, "/execs"), { command: ["true"] });
    await outlastLeases({ server, clock });
    while ((await server.call("GET", scene.path)).body.status !== "lost")
      await new Promise((r) => setTimeout(r, 20));
    const late = await scene.report("ended", { outcome: "exited", exit_code: 0 });
    assert.deepEqual([late.status, late.body.error.code], [409, "lease_lost"]);
    const again = await worker.take();
    await worker.live(again);
    const { processes } = await worker.poll({
      held: [{ ...worker.fields(again), stopping: false, processes: [] }],
    });
    assert.deepEqual(
      processes.map((p: Json) => p.process_id),
      [waiting.body.id],
    );
    // A worker that lets go has ended what ran; a stop ends what waits.
    const stopping = server.call("POST", at(scene.id, "/stop"));
    await worker.poll({ wait: "10s", held: [{ ...worker.fields(again), stopping: false, processes: [] }] });
    await worker.stopped(again);
    assert.equal((await stopping).body.materialization.status, "stopped");
    assert.equal(
      (await server.call("GET", at(scene.id, `/execs/${waiting.body.id}`))).body.status,
      "cancelled",
    );
  });

  test("an exec whose workspace cannot be prepared has failed and says why", async () => {
    const { id } = await calls.create();
    const exec = await post(at(id, "/execs"), { command: ["true"] });
    const leased = await worker.take();
    await worker.call("/workspaces/failed", {
      ...worker.fields(leased),
      error: { message: "no space left" },
    });
    const { body } = await server.call("GET", at(id, `/execs/${exec.body.id}`));
    assert.deepEqual([body.status, body.error], ["failed", { message: "no space left" }]);
  });

  test("the waiting exec of /v1 answers with bounded output, and again by its id", async () => {
    const { id } = await calls.create();
    const waiting = post(`/v1/workspaces/${id}/exec`, {
      command: ["yes"],
      timeout: "1s",
      idempotency_key: "once",
    });
    const leased = await worker.take();
    await worker.live(leased);
    const held = [{ ...worker.fields(leased), stopping: false, processes: [] }];
    const { processes } = await worker.poll({ wait: "10s", held });
    const process_id = processes[0].process_id;
    assert.equal(processes[0].timeout, "1s");
    const report = (what: string, extra: object = {}) =>
      worker.call(`/workspaces/processes/${what}`, { ...worker.fields(leased), process_id, ...extra });
    await report("started");
    const block = Buffer.alloc(700_000, "y\n");
    await report("output", {
      chunks: [chunk("stdout", 0, block), chunk("stdout", 700_000, block), chunk("stderr", 0, "e")],
    });
    await report("ended", { outcome: "exited", signal: "SIGKILL", timed_out: true });
    const answer = await waiting;
    assert.equal(answer.status, 200, answer.text);
    const { body } = answer;
    assert.deepEqual(
      [body.id, body.status, body.timed_out, body.signal, body.stdout_truncated, body.stderr_truncated],
      [process_id, "exited", true, "SIGKILL", true, false],
    );
    assert.equal(Buffer.from(body.stdout, "base64").length, 1024 * 1024);
    assert.deepEqual((await server.call("GET", `/v1/workspaces/${id}/exec/${process_id}`)).body, body);
    const again = await post(`/v1/workspaces/${id}/exec`, {
      command: ["yes"],
      timeout: "1s",
      idempotency_key: "once",
    });
    assert.deepEqual([again.body.id, again.headers.get("idempotency-replayed")], [process_id, "true"]);
    const long = await post(`/v1/workspaces/${id}/exec`, { command: ["true"], timeout: "11m" });
    assert.equal(long.status, 400);
    for (const name of ["A-B", "1A", "", "A B"]) {
      const odd = await post(`/v1/workspaces/${id}/exec`, { command: ["true"], env: { [name]: "x" } });
      assert.equal(odd.status, 400, name);
    }
    await worker.stopped(leased);
  });
});

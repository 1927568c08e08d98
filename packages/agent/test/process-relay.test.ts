// The relay between a real server and a real supervisor; only the poll is the test's own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../server/test/support/workspace-worker.ts";
import { workspaceCalls } from "../../server/test/support/workspaces.ts";
import { toServiceError } from "../src/protocol/service-error.ts";
import { ProcessRelay } from "../src/workspaces/process-relay.ts";
import { startTestSupervisor, type TestSupervisor } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";
import { until as untilHolds } from "../../server/test/support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const sh = (script: string): string[] => ["sh", "-c", script];
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("the relay of processes", () => {
  let server: ApiServer;
  let worker: WorkspaceWorker;
  before(async () => {
    server = await startApiServer();
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());

  /** A live workspace, whose processes are run by a supervisor of this machine. */
  async function begin(t: TestContext): Promise<Scene> {
    const { id } = await workspaceCalls(server).create();
    await server.call("POST", `/api/workspaces/${id}/materialize`);
    const leased = await worker.take();
    assert.equal((await worker.live(leased)).status, 200);
    // Or the next poll would be given this one again.
    cleanUp(t, () => worker.stopped(leased));
    const scene = await startTestSupervisor(t, "process");
    const commits: Json[] = [];
    let lost = 0;
    let version: string | null = null;
    const open = (): ProcessRelay =>
      new ProcessRelay({
        supervisor: scene.supervisor,
        origin: "started",
        hasLease: () => true,
        fields: worker.fields(leased),
        commit: async (cause) => {
          commits.push(cause);
          return version;
        },
        onLost: () => void (lost += 1),
        onBroken: () => assert.fail("a command was lost"),
        random: () => 0,
        logger: silent,
        client: {
          async post<T>(route: string, body: string): Promise<T> {
            const answer = await worker.call(`/${route}`, JSON.parse(body));
            if (answer.status >= 400) throw toServiceError(answer.status, answer.text, undefined);
            return answer.body as T;
          },
        },
      });
    const held = (relay: ProcessRelay) => [
      { ...worker.fields(leased), stopping: false, processes: relay.held() },
    ];
    const turn = async (relay: ProcessRelay): Promise<Json> => {
      const answer = await worker.poll({ wait: "100ms", held: held(relay) });
      for (const start of answer.processes) relay.accept(start);
      await Promise.all(answer.inputs.map((input: Json) => relay.input(input)));
      await Promise.all(answer.controls.map((control: Json) => relay.control(control)));
      return answer;
    };
    return {
      ...{ id, leased, scene, commits, open, turn },
      lost: () => lost,
      setVersion: (text) => void (version = text),
      async create(kind, body) {
        const created = await server.call("POST", `/api/workspaces/${id}/${kind}`, { body });
        assert.equal(created.status, 201, created.text);
        return `/api/workspaces/${id}/${kind}/${created.body.id}`;
      },
      async until(relay, path, isThere) {
        for (;;) {
          await turn(relay);
          const { body } = await server.call("GET", path);
          if (await isThere(body)) return body;
        }
      },
    };
  }
  type Scene = {
    id: string;
    leased: Json;
    scene: TestSupervisor;
    commits: Json[];
    open(): ProcessRelay;
    turn(relay: ProcessRelay): Promise<Json>;
    lost(): number;
    setVersion(version: string): void;
    create(kind: "execs" | "pty", body: object): Promise<string>;
    /** Polls until what the path shows is as it should be. */
    until(
      relay: ProcessRelay,
      path: string,
      isThere: (body: Json) => boolean | Promise<boolean>,
    ): Promise<Json>;
  };

  const textOf = async (path: string): Promise<string> => {
    const { body } = await server.call("GET", path);
    return body.chunks.map((chunk: Json) => Buffer.from(chunk.data, "base64").toString()).join("");
  };
  const isIdle = (relay: ProcessRelay): Promise<void> =>
    untilHolds("the relay to have nothing in hand", 60_000, async () => !relay.busy());
  const isOver = ({ finished_at: finished }: Json): boolean => finished !== null;

  test("an exec runs, its output is stored, and its end names the version it made", async (t) => {
    const { leased, open, until, create, commits, setVersion } = await begin(t);
    const committed = await worker.commit(leased, leased.base.version_id, { file: "x" });
    setVersion(committed.body.version.id);
    const path = await create("execs", { command: sh("cat; echo oops >&2; exit 4"), stdin: base64("hello") });
    const relay = open();
    const ended = await until(relay, path, isOver);
    assert.deepEqual([ended.status, ended.exit_code, ended.signal], ["exited", 4, null]);
    assert.equal(ended.version_id, committed.body.version.id);
    assert.equal(await textOf(`${path}/stdout`), "hello");
    assert.equal(await textOf(`${path}/stderr`), "oops\n");
    assert.deepEqual(commits, [{ kind: "exec", id: ended.id }]);
    assert.equal(relay.busy(), false);
  });

  test("a terminal takes what is typed, learns of its size, and is closed", async (t) => {
    const { open, until, create } = await begin(t);
    const path = await create("pty", { command: ["sh"], cols: 90, rows: 20 });
    const relay = open();
    const typed = await server.call("POST", `${path}/resize`, { body: { cols: 70, rows: 10 } });
    assert.ok(typed.status < 300, typed.text);
    await server.call("POST", `${path}/input`, { body: { data: base64("stty size; echo sum-$((1+1))\n") } });
    await until(relay, path, async () => (await textOf(`${path}/output`)).includes("sum-2"));
    assert.match(await textOf(`${path}/output`), /10 70|20 90/);
    assert.ok((await server.call("POST", `${path}/close`)).status < 300);
    assert.equal((await until(relay, path, isOver)).status, "closed");
  });

  test("a signal ends an exec", async (t) => {
    const { open, until, create } = await begin(t);
    const path = await create("execs", { command: sh("echo ready; exec sleep 1000") });
    const relay = open();
    await until(relay, path, async () => (await textOf(`${path}/stdout`)) === "ready\n");
    await server.call("POST", `${path}/signal`, { body: { signal: "SIGTERM" } });
    const ended = await until(relay, path, isOver);
    assert.deepEqual([ended.status, ended.exit_code, ended.signal], ["exited", null, "SIGTERM"]);
  });

  test("what ended before it began is not started", async (t) => {
    const { open, create, leased, scene } = await begin(t);
    const path = await create("execs", { command: sh("echo started > file") });
    const relay = open();
    const { processes } = await worker.poll({
      wait: "10s",
      held: [{ ...worker.fields(leased), stopping: false, processes: [] }],
    });
    await server.call("POST", `${path}/signal`, { body: { signal: "SIGKILL" } });
    relay.accept(processes[0]);
    await isIdle(relay);
    assert.deepEqual(await scene.supervisor.list(), []);
    assert.equal((await server.call("GET", path)).body.status, "cancelled");
  });

  test("one begins when it is marked and started with its workspace, and not without either", async (t) => {
    const { open, create, leased, scene } = await begin(t);
    await create("execs", { command: sh("echo started > file") });
    const { processes } = await worker.poll({
      wait: "10s",
      held: [{ ...worker.fields(leased), stopping: false, processes: [] }],
    });
    const [start] = processes;
    const refused = open();
    refused.accept(start, { isStarted: Promise.resolve(false) });
    await isIdle(refused);
    assert.deepEqual(await scene.supervisor.list(), []);

    const { body } = await worker.call("/workspaces/live", {
      ...worker.fields(leased),
      ...{ isolation: "namespace", starts: [start.process_id] },
    });
    assert.deepEqual(body.started, [start.process_id]);
    const marked = Promise.withResolvers<void>();
    const relay = open();
    relay.accept(start, { isStarted: Promise.resolve(true), marked: marked.promise });
    await scene.supervisor.drop("exec_none"); // Answered after whatever came before it.
    assert.deepEqual(await scene.supervisor.list(), []);
    marked.resolve();
    await isIdle(relay);
    assert.equal(readFileSync(join(scene.root, "file"), "utf8"), "started\n");
  });

  test("another relay goes on where the server is, with every byte once", async (t) => {
    const { open, until, create } = await begin(t);
    const path = await create("execs", { command: ["cat"] });
    const first = open();
    await server.call("POST", `${path}/stdin`, { body: { data: base64("one ") } });
    await until(first, path, async () => (await textOf(`${path}/stdout`)) === "one ");
    first.close();
    const next = open();
    await server.call("POST", `${path}/stdin`, { body: { data: base64("two") } });
    await server.call("POST", `${path}/stdin/close`);
    const ended = await until(next, path, isOver);
    assert.deepEqual([ended.status, ended.exit_code], ["exited", 0]);
    assert.equal(await textOf(`${path}/stdout`), "one two");
  });

  test("what the supervisor does not have any more is lost, never run again", async (t) => {
    const { open, until, create, scene } = await begin(t);
    const path = await create("execs", { command: sh("echo x >> starts; exec sleep 1000") });
    const first = open();
    await until(first, path, ({ status }) => status === "running");
    first.close();
    const [running] = await scene.supervisor.list();
    if (running !== undefined) {
      await scene.supervisor.end(running.id);
      await scene.collect(running.id);
    }
    const ended = await until(open(), path, isOver);
    assert.equal(ended.status, "lost");
    assert.deepEqual(await scene.supervisor.list(), []);
  });

  test("what the server does not give back is ended", async (t) => {
    const { open, turn, scene } = await begin(t);
    await scene.begin(["sleep", "1000"]);
    // Another has ended for the server, and the agent died before it was forgotten: its output is read and dropped.
    const over = await scene.begin(["echo", "read before"]);
    const after = { stdout: 0, stderr: 0, output: 0 };
    for (let isOver = false; !isOver;) {
      const { chunks, exit } = await scene.supervisor.readOutput(over, after);
      for (const { stream, offset, data } of chunks) after[stream] = offset + data.length;
      isOver = exit !== null;
    }
    await scene.supervisor.readOutput(over, after);
    const relay = open();
    await turn(relay);
    await relay.endUnclaimed();
    assert.deepEqual(await scene.supervisor.list(), []);
  });

  test("a stop cancels execs and closes terminals, and begins with nothing more", async (t) => {
    const { open, until, create, commits } = await begin(t);
    const paths = [
      await create("execs", { command: ["sleep", "1000"] }),
      await create("pty", { command: ["sh"] }),
    ];
    const relay = open();
    for (const path of paths) await until(relay, path, ({ status }) => status === "running");
    await relay.endAll();
    assert.equal(relay.busy(), false);
    const ends = await Promise.all(paths.map(async (path) => (await server.call("GET", path)).body.status));
    assert.deepEqual(ends, ["cancelled", "closed"]);
    assert.equal(commits.length, 2);
  });

  test("a materialization that is another's is told once, and nothing more is said of it", async (t) => {
    const { open, until, create, leased, lost } = await begin(t);
    const path = await create("execs", { command: sh("echo ready; exec cat") });
    const relay = open();
    await until(relay, path, async () => (await textOf(`${path}/stdout`)) === "ready\n");
    const gone = await worker.call("/workspaces/failed", {
      ...worker.fields(leased),
      error: { message: "gone" },
    });
    assert.equal(gone.status, 200, gone.text);
    await relay.input({
      process_id: path.split("/").at(-1) as string,
      offset: 0,
      data: base64("x"),
      closed: true,
    });
    await isIdle(relay);
    assert.equal(lost(), 1);
  });
});

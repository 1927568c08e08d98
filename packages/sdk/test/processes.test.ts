import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Client, ConflictError, TimeoutError, type ExecOptions } from "@keelson/sdk";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { driveProcess } from "../../server/test/support/driven-process.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../server/test/support/workspace-worker.ts";
import {
  startFaultProxy,
  type Fate,
  type FaultProxy,
  type Seen,
} from "../../server/test/support/fault-proxy.ts";

let server: ApiServer;
let worker: WorkspaceWorker;
let client: Client;
before(async () => {
  server = await startApiServer();
  worker = await startWorkspaceWorker(server);
  client = connect();
});
after(() => server.stop());

const connect = (url = server.url): Client => new Client({ url, apiKey: server.credentials.api_key });
const watch = (decide?: (seen: Seen, index: number) => Fate): Promise<FaultProxy> =>
  startFaultProxy(server.url, decide);

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

async function textOf(output: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collect(output)).toString();
}

/** An exec, by way of `through`, and what its worker has of it. */
async function begin(command: string[], options?: ExecOptions, through = client) {
  const { id } = await client.workspaces.create();
  const [exec, driven] = await Promise.all([
    through.workspaces.exec(id, command, options),
    driveProcess(worker),
  ]);
  return { exec, driven };
}

const isOver = (code: string) => (error: unknown) => error instanceof ConflictError && error.code === code;

suite("execs", () => {
  test("a command is given what it asked for, followed, and waited for", async () => {
    const { exec, driven } = await begin(["sh", "-c", "cat"], {
      cwd: "src",
      env: { CI: "1" },
      stdin: "hé",
      timeout: "5m",
    });
    assert.partialDeepStrictEqual(driven.start, {
      process_id: exec.id,
      command: ["sh", "-c", "cat"],
      cwd: "src",
      env: { CI: "1" },
      timeout: "5m",
    });
    await driven.until(({ closed }) => closed);
    assert.equal(driven.received.input, "hé");
    const following = textOf(exec.stdout);
    await driven.write("stdout", "one ");
    await driven.write("stderr", "warned");
    await driven.write("stdout", "two");
    await assert.rejects(exec.wait({ timeout: "50ms" }), TimeoutError);
    const version = await driven.commit({ out: "x" });
    await driven.end({ outcome: "exited", exit_code: 3, version_id: version });
    assert.equal(await following, "one two");
    assert.equal(await exec.stderr.text(), "warned");
    assert.partialDeepStrictEqual(await exec.wait(), { status: "exited", exitCode: 3, versionId: version });
    const result = await exec.result();
    assert.partialDeepStrictEqual(result, {
      exitCode: 3,
      stdout: "one two",
      stderr: "warned",
      stdoutTruncated: false,
    });
    assert.equal(Buffer.from(result.bytes.stdout).toString(), "one two");
    assert.deepEqual((await client.workspaces.execs.list(exec.workspaceId).page()).items, [await exec.get()]);
    await driven.release();
  });

  test("output is followed over disconnects by its offset, no byte lost or repeated", async () => {
    await using proxy = await watch((seen, index) =>
      seen.path.includes("/stdout") && index < 6 ? { events: 1 } : "pass",
    );
    const { exec, driven } = await begin(["seq"], {}, connect(proxy.url));
    const text = Array.from({ length: 40 }, (_, i) => `line ${i} é\n`);
    for (const line of text) await driven.write("stdout", line);
    await driven.end();
    assert.equal(await textOf(exec.stdout), text.join(""));
    const opens = proxy.seen.filter(({ path }) => path.includes("/stdout"));
    assert.ok(opens.length > 3, `${opens.length} connections`);
    assert.equal(opens[1]?.headers["last-event-id"], "10");
    await driven.release();
  });

  test("chunks are read from an offset, also only those there are", async () => {
    const { exec, driven } = await begin(["x"]);
    await driven.write("stdout", "abc");
    await driven.write("stdout", "def");
    const chunks = await collect(exec.stdout.chunks({ cursor: 2, follow: false }));
    assert.deepEqual(
      chunks.map(({ offset, bytes }) => [offset, Buffer.from(bytes).toString()]),
      [
        [2, "c"],
        [3, "def"],
      ],
    );
    await driven.end();
    await driven.release();
  });

  test("output that is no longer kept is an error, or with onGap a gap", async () => {
    const { exec, driven } = await begin(["yes"]);
    const block = Buffer.alloc(1024 * 1024, "y\n");
    for (let i = 0; i < 14; i += 1) await driven.write("stdout", block);
    await driven.end();
    await assert.rejects(textOf(exec.stdout), isOver("cursor_expired"));
    const gaps: (string | null)[] = [];
    let length = 0;
    for await (const { bytes } of exec.stdout.chunks({ onGap: (earliest) => void gaps.push(earliest) }))
      length += bytes.length;
    assert.equal(gaps.length, 1);
    assert.equal(Number(gaps[0]) + length, 14 * block.length);
    const result = await exec.result();
    assert.deepEqual([result.stdoutTruncated, result.bytes.stdout.length], [true, 1024 * 1024]);
    await driven.release();
  });

  test("input is written in order and once, though answers are lost", async () => {
    let writes = 0;
    await using proxy = await watch(({ path }) => {
      if (!path.endsWith("/stdin")) return "pass";
      writes += 1;
      return writes === 1 ? "cut after" : writes === 3 ? "cut before" : "pass";
    });
    const { exec, driven } = await begin(["cat"], {}, connect(proxy.url));
    const large = "x".repeat(300_000);
    await Promise.all([exec.write("one"), exec.write("two"), exec.write(large), exec.closeStdin()]);
    await driven.until(({ closed }) => closed);
    assert.equal(driven.received.input, `onetwo${large}`);
    await assert.rejects(exec.write("late"), isOver("invalid_state"));
    await driven.end();
    await driven.release();
  });

  test("two writers of one input take turns", async () => {
    const { exec, driven } = await begin(["cat"]);
    const other = client.workspaces.execs.open(exec.workspaceId, exec.id);
    await exec.write("a");
    await other.write("b");
    await exec.write("c");
    await other.closeStdin();
    await driven.until(({ closed }) => closed);
    assert.equal(driven.received.input, "abc");
    await driven.end();
    await driven.release();
  });

  test("a process that does not read is waited for", async () => {
    const { exec, driven } = await begin(["sleep"]);
    const piece = "z".repeat(1024 * 1024);
    const writing = exec.write(piece.repeat(5)).then(() => exec.closeStdin());
    await driven.until(({ closed }) => closed);
    await writing;
    assert.equal(driven.received.input.length, 5 * piece.length);
    await driven.end();
    await driven.release();
  });

  test("a signal reaches it, and cancels one that has not begun", async () => {
    const { exec, driven } = await begin(["sleep", "9"]);
    await exec.signal("SIGINT");
    await driven.until(({ controls }) => controls.length === 1);
    assert.equal(driven.received.controls[0].signal, "SIGINT");
    await driven.end({ outcome: "exited", signal: "SIGINT" });
    assert.equal((await exec.wait()).signal, "SIGINT");
    await driven.release();
    const waiting = await client.workspaces.exec((await client.workspaces.create()).id, ["true"]);
    assert.equal((await waiting.signal("SIGTERM")).status, "cancelled");
    assert.equal((await waiting.result()).status, "cancelled");
    await client.workspaces.delete(waiting.workspaceId);
  });

  test("an exec whose answer is lost is asked for again, and runs once", async () => {
    await using proxy = await watch((_seen, index) => (index === 0 ? "cut after" : "pass"));
    const { exec, driven } = await begin(["true"], {}, connect(proxy.url));
    await driven.end();
    const { items } = await client.workspaces.execs.list(exec.workspaceId).page();
    assert.deepEqual(
      items.map(({ id }) => id),
      [exec.id],
    );
    await driven.release();
  });
});

suite("terminals", () => {
  async function open(through = client) {
    const { id } = await client.workspaces.create();
    const [pty, driven] = await Promise.all([
      through.workspaces.pty(id, { command: ["bash"], cols: 100, rows: 30, env: { TERM: "xterm" } }),
      driveProcess(worker),
    ]);
    return { pty, driven };
  }

  test("a terminal is typed into, resized, followed and closed", async () => {
    const { pty, driven } = await open();
    assert.partialDeepStrictEqual(driven.start, { kind: "pty", command: ["bash"], cols: 100, rows: 30 });
    await pty.write("ls\r");
    await pty.write(Uint8Array.of(3));
    await pty.resize(50, 20);
    await driven.until(({ input, controls }) => input.length === 4 && controls.length === 1);
    assert.deepEqual([driven.received.input, driven.received.controls[0].cols], ["ls\r\x03", 50]);
    await driven.write("output", Uint8Array.of(27, 91, 0, 255));
    assert.equal((await pty.close()).status, "running");
    await driven.until(({ controls }) => controls.length === 2);
    await driven.end({ outcome: "closed" });
    const shown = await collect(pty.output);
    assert.deepEqual(shown, [Uint8Array.of(27, 91, 0, 255)]);
    assert.partialDeepStrictEqual(await pty.wait(), { status: "closed", cols: 50 });
    assert.equal((await client.workspaces.ptys.list(pty.workspaceId).page()).items[0]?.id, pty.id);
    await assert.rejects(pty.write("late"), isOver("invalid_state"));
    await driven.release();
  });

  test("what is typed and shown passes a broken connection once", async () => {
    let inputs = 0;
    await using proxy = await watch(({ path }, index) => {
      if (path.includes("/output")) return index < 8 ? { events: 1 } : "pass";
      if (path.endsWith("/input")) inputs += 1;
      return inputs === 1 && path.endsWith("/input") ? "cut after" : "pass";
    });
    const { pty, driven } = await open(connect(proxy.url));
    await pty.write("echo hi\r");
    await driven.until(({ input }) => input.length >= 8);
    assert.equal(driven.received.input, "echo hi\r");
    assert.equal((await pty.get()).input.bytes, 8);
    const again = connect(proxy.url).workspaces.ptys.open(pty.workspaceId, pty.id);
    await again.write("!");
    await driven.until(({ input }) => input.endsWith("!"));
    for (let i = 0; i < 20; i += 1) await driven.write("output", `${i} `);
    await driven.end();
    const expected = Array.from({ length: 20 }, (_, i) => `${i} `).join("");
    assert.equal(await pty.output.text(), expected);
    await driven.release();
  });
});

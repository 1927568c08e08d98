import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { DiffEntry, Exec, Workspace, WrittenFile } from "@keelson/contract";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { driveProcess } from "../../server/test/support/driven-process.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../server/test/support/workspace-worker.ts";
import { createFolder, environmentOf, keelson, spawnKeelson, type Outcome } from "./support.ts";

let server: ApiServer;
let worker: WorkspaceWorker;
let env: Record<string, string>;
before(async () => {
  server = await startApiServer();
  worker = await startWorkspaceWorker(server);
  env = environmentOf(server);
});
after(() => server.stop());

const run = (args: readonly string[], input = ""): Promise<Outcome> =>
  keelson(["workspace", ...args], { env, input });

/** Runs `keelson workspace …`, which must do what it was asked to, and gives what it wrote. */
async function workspace(args: readonly string[], input = ""): Promise<string> {
  const outcome = await run(args, input);
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome.stdout;
}

const create = async (): Promise<string> => (await workspace(["create"])).trim();

suite("workspaces on the command line", () => {
  test("a workspace is made, found by its id and its name, listed and deleted", async () => {
    const made = await workspace(["create", "--name", "ticket-1", "--tag", "a", "--metadata", `{"n": 1}`]);
    assert.match(made, /^ws_[0-9a-z]{26}\n$/);
    const id = made.trim();
    for (const args of [[id], ["-x", "ticket-1"]]) {
      const shown = JSON.parse(await workspace(["get", ...args, "--json"])) as Workspace;
      assert.deepEqual([shown.id, shown.metadata], [id, { n: 1 }]);
    }
    assert.match(
      await workspace(["get", id]),
      /external id +ticket-1\nsandbox +default\nstatus +active\nversion +wsv_/,
    );
    assert.match(
      await workspace(["list", "--tag", "a"]),
      new RegExp(`^WORKSPACE.*\n${id} +default +active +ticket-1 `),
    );
    const taken = await run(["create", "--name", "ticket-1"]);
    assert.equal(taken.code, 5);
    assert.match(await workspace(["delete", id]), / deleted\n$/);
    const gone = await run(["get", "-x", "ticket-1"]);
    assert.equal(gone.code, 4);
    assert.match(gone.stderr, /No active workspace has the external id "ticket-1"/);
  });

  test("files are put, listed, read back as they are, compared, restored and forked", async () => {
    await using folder = await createFolder();
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    await writeFile(join(folder.path, "data"), bytes);
    const id = await create();
    const first = await workspace(["put", id, "a/data.bin", join(folder.path, "data"), "--mode", "755"]);
    const piped = await workspace(["put", id, "note.txt", "-", "--json"], "Grüße");
    const { version_id: second } = JSON.parse(piped) as WrittenFile;
    assert.match(await workspace(["files", id]), /^MODE.*\n0755 +0 .* a\/\n0644 +7 .* note\.txt\n$/);
    assert.match(await workspace(["files", id, "a", "--at", first.trim()]), /0755 +5 .* data\.bin\n$/);
    assert.equal(await workspace(["cat", id, "note.txt"]), "Grüße");
    const cat = await spawnKeelson(["workspace", "cat", id, "a/data.bin", "--json"], { env });
    const { content } = JSON.parse(cat.stdout) as { content: string };
    assert.deepEqual(Buffer.from(content, "base64"), bytes);
    assert.equal(await workspace(["diff", id]), "A note.txt\n");
    assert.equal(await workspace(["diff", id, first.trim(), "--base", second]), "D note.txt\n");
    const change = JSON.parse(await workspace(["diff", id, "--json"])) as DiffEntry;
    assert.deepEqual([change.change, change.path], ["added", "note.txt"]);
    const forked = (await workspace(["fork", id, "--at", second])).trim();
    assert.match(await workspace(["restore", id, first.trim()]), /^wsv_\w+\n$/);
    assert.equal((await run(["cat", id, "note.txt"])).code, 4);
    assert.equal(await workspace(["cat", forked, "note.txt"]), "Grüße");
    const versions = await workspace(["versions", id, "--limit", "2"]);
    assert.match(versions, /^VERSION.*\nwsv_\w+ +4 +write +1 +5 .*\nwsv_\w+ +3 +write +2 +12 /);
    assert.equal((await run(["put", id, "x", join(folder.path, "absent")])).code, 2);
    assert.equal((await run(["put", id, "x", "-", "--mode", "rwx"])).code, 2);
    assert.equal((await readFile(join(folder.path, "data"))).length, 5);
  });

  test("names of files do nothing to a terminal, and stay in their line", async () => {
    const id = await create();
    const name = "a\u001b]0;pwn\u0007\nb";
    await workspace(["put", id, name, "-"], "x");
    const shown = "a\\x1b]0;pwn\\x07\\nb\n";
    assert.ok((await workspace(["files", id])).endsWith(shown));
    assert.equal(await workspace(["diff", id]), `A ${shown}`);
    const { files } = JSON.parse(await workspace(["files", id, "--json"])) as { files: { name: string }[] };
    assert.equal(files[0]?.name, name);
  });

  test("exec says that a part of an output did not come, and fails", async () => {
    const id = await create();
    const written = Promise.withResolvers<void>();
    await using slow = await startFaultProxy(server.url, ({ path }) =>
      path.includes("/stdout") ? { hold: written.promise } : "pass",
    );
    const args = ["workspace", "exec", id, "-n", "--", "sh"];
    const running = keelson(args, { env: { ...env, KEELSON_URL: slow.url } });
    const driven = await driveProcess(worker);
    await driven.until(({ closed }) => closed);
    for (let i = 0; i < 40; i += 1) await driven.write("stdout", "x".repeat(500_000));
    await driven.end({ outcome: "exited", exit_code: 0 });
    written.resolve();
    const { code, stdout, stderr } = await running;
    assert.equal(code, 1, stderr);
    assert.ok(stdout.length >= 8 * 1024 * 1024 && stdout.length < 20_000_000, `${stdout.length}`);
    assert.match(
      stderr,
      /Part of stdout is missing: the server keeps the last 8 MiB .*`keelson workspace cat`/,
    );
    await driven.release();
  });

  test("exec passes input and outputs, and exits with the program's code", async () => {
    const id = await create();
    const running = run(
      ["exec", id, "--cwd", "src", "-e", "A=1=2", "--timeout", "5m", "--", "sh", "-c", "cat"],
      "to it",
    );
    const driven = await driveProcess(worker);
    assert.partialDeepStrictEqual(driven.start, {
      command: ["sh", "-c", "cat"],
      cwd: "src",
      env: { A: "1=2" },
      timeout: "5m",
    });
    await driven.until(({ closed }) => closed);
    assert.equal(driven.received.input, "to it");
    await driven.write("stdout", "out\n");
    await driven.write("stderr", "err\n");
    await driven.end({ outcome: "exited", exit_code: 3 });
    const { code, stdout, stderr } = await running;
    assert.deepEqual([code, stdout], [3, "out\n"]);
    // On a busy machine it is told before what the command waits for.
    assert.match(stderr, /(^|\n)err\n$/);
    assert.match(await workspace(["get", id]), /machine +live, namespace, wkr_/);
    await driven.release();
  });

  test("exec with --json writes the chunks and the exec, and says how a program ended otherwise", async () => {
    for (const [end, code, message] of [
      [{ outcome: "exited", signal: "SIGKILL" }, 137, /(^|\n)$/],
      [{ outcome: "exited", signal: "SIGKILL", timed_out: true }, 124, /was killed after 1s/],
      [{ outcome: "failed", error: { message: "sh: not found" } }, 7, /failed: sh: not found/],
    ] as const) {
      const id = await create();
      const running = run(["exec", id, "-n", "--json", "--timeout", "1s", "--", "sh"]);
      const driven = await driveProcess(worker);
      await driven.until(({ closed }) => closed);
      await driven.write("stdout", "x");
      await driven.end(end);
      const outcome = await running;
      assert.equal(outcome.code, code);
      assert.match(outcome.stderr, message);
      const [chunk, exec] = outcome.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { stream: string; data: string } & Exec);
      assert.deepEqual([chunk?.stream, chunk?.data, exec?.stdout.bytes], ["stdout", "eA==", 1]);
      await driven.release();
    }
  });

  test("Ctrl-C reaches the program, which ends as it likes", async () => {
    const id = await create();
    const ended = spawnKeelson(["workspace", "exec", id, "-n", "--", "server"], {
      env,
      onSpawn: (child) => void child.stdout?.once("data", () => child.kill("SIGINT")),
    });
    const driven = await driveProcess(worker);
    await driven.write("stdout", "listening\n");
    await driven.until(({ controls }) => controls.length === 1);
    assert.equal(driven.received.controls[0].signal, "SIGINT");
    await driven.write("stdout", "bye\n");
    await driven.end();
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stdout], [0, "listening\nbye\n"]);
    assert.match(stderr, /SIGINT sent to the program; once more leaves it running as exec_/);
    await driven.release();
  });

  test("a command that no machine takes says what it waits for", async () => {
    const id = await create();
    const { code, stderr } = await spawnKeelson(["workspace", "exec", id, "-n", "--", "true"], {
      env,
      onSpawn: (child) => void child.stderr?.once("data", () => child.kill("SIGTERM")),
    });
    // It ended before it began.
    assert.match(stderr, /^[^(]+\n\(SIGTERM sent to the program[^]*cancelled/);
    assert.equal(code, 7);
    await workspace(["delete", id]);
  });

  test("stop takes a workspace off its machine", async () => {
    const id = await create();
    const running = run(["exec", id, "-n", "--", "true"]);
    const driven = await driveProcess(worker);
    await driven.end();
    assert.equal((await running).code, 0);
    assert.equal((await run(["stop", id, "--timeout", "50ms"])).code, 124);
    const stopping = workspace(["stop", id]);
    await driven.release();
    assert.equal(await stopping, `${id} active, stopped\n`);
  });

  test("what a worker could not commit is recovered, or given up when that is meant", async () => {
    const error = { message: "no space left" };
    /** A workspace whose worker has said so, and what the worker answers when it is told to try again. */
    const hold = async () => {
      const id = await create();
      const asked = await server.call("POST", `/api/workspaces/${id}/materialize`, { body: {} });
      assert.equal(asked.status, 202, asked.text);
      const leased = await worker.take();
      assert.equal((await worker.live(leased)).status, 200);
      const fields = worker.fields(leased);
      const keep = () => worker.call("/workspaces/uncommitted", { ...fields, error });
      assert.equal((await keep()).status, 200);
      const held = [{ ...fields, stopping: false, processes: [] }];
      const toldToStop = async (): Promise<void> => {
        const { stops } = await worker.poll({ wait: "10s", held });
        assert.deepEqual(stops, [{ ...fields, mode: "commit" }]);
      };
      return { id, leased, keep, toldToStop };
    };

    const kept = await hold();
    assert.match(await workspace(["get", kept.id]), /uncommitted[^]*no space left/);
    const failing = run(["recover", kept.id]);
    await kept.toldToStop();
    await kept.keep();
    const { code, stdout } = await failing;
    assert.deepEqual([code, stdout], [1, `${kept.id} active, uncommitted: no space left\n`]);
    const recovering = workspace(["recover", kept.id]);
    await kept.toldToStop();
    await worker.stopped(kept.leased);
    assert.equal(await recovering, `${kept.id} active, stopped\n`);

    const lost = await hold();
    const unmeant = await run(["discard", lost.id]);
    assert.equal(unmeant.code, 2);
    assert.match(unmeant.stderr, /would be lost\. Add --confirm/);
    assert.match(await workspace(["get", lost.id]), /uncommitted/);
    assert.equal(await workspace(["discard", lost.id, "--confirm"]), `${lost.id} active, stopped\n`);
    for (const args of [
      ["recover", lost.id],
      ["discard", lost.id, "--confirm"],
    ])
      assert.equal((await run(args)).code, 5);
  });

  test("what cannot be used is refused with exit code 2", async () => {
    for (const [args, message] of [
      [["exec", "ws_1"], /missing required argument 'command'/],
      [["exec", "ws_1", "-e", "A", "--", "true"], /NAME=value/],
      [["exec", "ws_1", "ls", "-la"], /unknown option '-la'/],
      [["frobnicate"], /unknown command/],
    ] as const) {
      const { code, stderr } = await run(args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    assert.match((await run(["exec", "--help"])).stdout, /The\s+exit\s+code\s+is\s+the\s+program's/);
  });
});

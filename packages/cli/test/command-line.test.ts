import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, afterEach, before, suite, test } from "node:test";
import { SDK_VERSION } from "@keelson/sdk";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { absentRunId, startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addApiKey } from "../../server/test/support/tenancy.ts";
import { CLI_VERSION } from "../src/version.ts";
import { createFolder, environmentOf, keelson, spawnKeelson } from "./support.ts";

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "report", retry: { max_attempts: 3, initial_delay: "0s" } }] });
  env = environmentOf(scene.server);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Works on the next run: its output, then its end. */
async function work(outcome: string, extra: object): Promise<HeldLease> {
  const lease = await scene.worker.takeOne();
  const chunk = (stream: string, line: string) => ({
    stream,
    data: Buffer.from(line).toString("base64"),
    at: "2026-11-20T09:15:00.123Z",
  });
  await scene.worker.report(
    lease.operation("start"),
    lease.operation("logs", { chunks: [chunk("stdout", "to out\n"), chunk("stderr", "to err\n")] }),
    lease.operation("release", { outcome, ...extra }),
  );
  return lease;
}

suite("the command line", () => {
  test("the versions in the code are those of the packages", async () => {
    for (const [name, version] of [
      ["cli", CLI_VERSION],
      ["sdk", SDK_VERSION],
    ] as const) {
      const path = resolve(import.meta.dirname, `../../${name}/package.json`);
      assert.equal((JSON.parse(await readFile(path, "utf8")) as { version: string }).version, version);
    }
    assert.deepEqual(await spawnKeelson(["--version"]), { code: 0, stdout: `${CLI_VERSION}\n`, stderr: "" });
  });

  test("what cannot be used is refused with exit code 2 before anything is sent", async () => {
    // Nobody is there: what was sent would end with another code.
    const nowhere = { KEELSON_URL: "http://127.0.0.1:9", KEELSON_API_KEY: "k" };
    for (const [args, message] of [
      [["run", "frobnicate"], /unknown command/],
      [["run", "get"], /missing required argument 'run'/],
      [["run", "list", "--limit", "0"], /whole number from 1 to 200/],
      [["run", "list", "--status", "odd"], /one of queued/],
      [["run", "wait", "run_1", "--timeout", "soon"], /duration like 30s/],
      [["task", "start", "a", "--payload", "{"], /payload is not JSON/],
      [["task", "start", "a", "--payload", "1", "--payload-file", "x"], /payload once/],
      [["task", "start", "a", "--payload-file", "/nowhere/x"], /Cannot read/],
      [["task", "start", "a", "{}"], /--payload '\{\}'/],
      [["task", "start", "a", "--metadata", "[]"], /JSON object/],
      [["session", "start", "--task", "a", "--actor", "b"], /either --task or --actor/],
      [["session", "send", "sess_1"], /Nothing to send/],
      [["session", "send", "sess_1", "--text", "a", "--data", "1"], /record once/],
      [["token", "complete", "t", "--data", "{"], /data is not JSON/],
      [["token", "list", "--status", "odd"], /one of pending/],
      [["--nonsense"], /unknown option/],
      [["run", "list", "--url", "localhost"], /"localhost" is not the URL of a server, such as http/],
    ] as const) {
      const { code, stdout, stderr } = await keelson(args, { env: nowhere });
      assert.match(stderr, message);
      assert.deepEqual([code, stdout], [2, ""], stderr);
    }
  });

  test("a flag wins over the environment, and that over the project's file", async () => {
    await using proxy = await startFaultProxy(scene.server.url);
    await using folder = await createFolder();
    const { id } = await scene.start("report");
    const keys: string[] = [];
    for (let i = 0; i < 3; i += 1) keys.push(await addApiKey(scene.server, ["runs.read"]));
    const [file = "", fromEnv = "", flag = ""] = keys;
    await mkdir(join(folder.path, ".keelson"));
    await mkdir(join(folder.path, "deep/er"), { recursive: true });
    await writeFile(
      join(folder.path, ".keelson/credentials.json"),
      JSON.stringify({ url: proxy.url, api_key: file }),
    );
    const cwd = join(folder.path, "deep/er");
    const get = ["run", "get", id];
    const withEnv = { cwd, env: { KEELSON_API_KEY: fromEnv } };
    assert.equal((await keelson(get, { cwd })).code, 0);
    assert.equal((await keelson(get, withEnv)).code, 0);
    assert.equal((await keelson(["--api-key", flag, ...get], withEnv)).code, 0);
    assert.equal((await keelson(get, { env: { KEELSON_DATA_DIR: join(folder.path, ".keelson") } })).code, 0);
    assert.deepEqual(
      proxy.seen.map(({ headers }) => headers.authorization),
      [file, fromEnv, flag, file].map((key) => `Bearer ${key}`),
    );
    const elsewhere = await keelson([...get, "--url", "http://127.0.0.1:1"], { cwd });
    assert.match(elsewhere.stderr, /No API key for http:\/\/127\.0\.0\.1:1/);
    assert.equal(elsewhere.code, 2);
    assert.match((await keelson(get)).stderr, /No server: run `keelson up`/);
  });

  test("each refusal of the server has its exit code, and its words go to stderr", async () => {
    const { id } = await scene.start("report");
    const limited = await addApiKey(scene.server, ["tasks.read"]);
    const start = ["task", "start", "report", "--idempotency-key", "once", "--payload"];
    assert.equal((await keelson([...start, "1"], { env })).code, 0);
    for (const [args, expected, words] of [
      [["run", "list", "--cursor", "x"], 1, /^error: .*\n {2}\(invalid_cursor, request /],
      [["--api-key", "x", "run", "get", id], 3, /^error: .*\n {2}\(unauthenticated, request /],
      [["--api-key", limited, "run", "get", id], 3, /\(forbidden, request /],
      [["run", "get", absentRunId(id)], 4, /\(not_found, request /],
      [[...start, "2"], 5, /\(idempotency_conflict, request /],
      [
        ["task", "start", "report", "--tag", ""],
        1,
        /^error: tags\.0: must not be empty\n {2}\(invalid_request, /,
      ],
    ] as const) {
      const { code, stdout, stderr } = await keelson(args, { env });
      assert.deepEqual([code, stdout], [expected, ""]);
      assert.match(stderr, words);
    }
    const { stderr } = await keelson(["run", "get", absentRunId(id), "--json"], { env });
    assert.partialDeepStrictEqual(JSON.parse(stderr), { error: { code: "not_found", details: null } });
  });

  test("a server that does not answer is exit code 6", { timeout: 60_000 }, async () => {
    const { code, stderr } = await keelson(["run", "get", "run_1"], {
      env: { KEELSON_URL: "http://127.0.0.1:9", KEELSON_API_KEY: "k" },
    });
    assert.match(stderr, /Cannot reach http:\/\/127\.0\.0\.1:9[^]*`keelson up`/);
    assert.equal(code, 6);
  });

  test("a started run is an id for a script, and the whole run with --json", async () => {
    const flags = ["--tag", "a", "--tag", "b", "--delay", "2m", "--max-attempts", "4"];
    const { code, stdout, stderr } = await keelson(["task", "start", "report", "-", ...flags], {
      env,
      input: `{"n": 1}`,
    });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^run_[0-9a-z]{26}\n$/);
    assert.partialDeepStrictEqual(await scene.get(stdout.trim()), {
      payload: { n: 1 },
      tags: ["a", "b"],
      max_attempts: 4,
      cli_version: CLI_VERSION,
      status_reason: { kind: "delayed" },
    });
    const json = await keelson(["task", "start", "report", "--json"], { env });
    assert.partialDeepStrictEqual(JSON.parse(json.stdout), { task: "report", status: "queued" });
  });

  test("a followed run writes its output where the task wrote it, and its failure is exit code 7", async () => {
    const follow = ["task", "start", "report", "--max-attempts", "1", "--follow"];
    const stack =
      "Error: disk full\n    at save (node:fs:1:1)\n[cause] Error: ENOSPC\n    at write (node:fs:2:2)";
    const failure = { kind: "application_error", message: "disk full", stack, retryable: true };
    const [failed, { runId }] = await Promise.all([keelson(follow, { env }), work("failed", { failure })]);
    assert.deepEqual([failed.code, failed.stdout], [7, "to out\n"]);
    assert.equal(
      failed.stderr,
      `Started ${runId}\nto err\n${runId} failed (report, attempt 1 of 1): disk full\n  caused by Error: ENOSPC\n`,
    );
    const [succeeded] = await Promise.all([
      keelson([...follow, "--quiet"], { env }),
      work("succeeded", { output: { ok: true } }),
    ]);
    assert.deepEqual(succeeded, { code: 0, stdout: `to out\n{\n  "ok": true\n}\n`, stderr: "to err\n" });
  });

  test("a wait that takes too long is exit code 124, and Ctrl-C 130", async () => {
    const { id } = await scene.start("report");
    const late = await keelson(["run", "wait", id, "--timeout", "100ms"], { env });
    assert.match(late.stderr, /has not ended within 100 ms; it continues/);
    assert.equal(late.code, 124);
    const asked = Promise.withResolvers<void>();
    await using proxy = await startFaultProxy(scene.server.url, () => {
      asked.resolve();
      return "pass";
    });
    const { code } = await spawnKeelson(["run", "logs", id, "-f"], {
      env: { ...env, KEELSON_URL: proxy.url },
      onSpawn: (child) => void asked.promise.then(() => child.kill("SIGINT")),
    });
    assert.equal(code, 130);
  });

  test("lists are tables for people and the wire's objects with --json", async () => {
    const [first, second] = [
      await scene.start("report", { tags: ["x"] }),
      await scene.start("report", { tags: ["x"] }),
    ];
    await scene.start("report");
    const list = ["run", "list", "--status", "running", "--status", "queued", "--tag", "x"];
    const table = await keelson([...list, "--limit", "1"], { env });
    assert.deepEqual(
      table.stdout.split("\n").map((line) => line.split(/ {2,}/)),
      [
        ["RUN", "TASK", "STATUS", "ATTEMPT", "CREATED"],
        [second.id, "report", "queued", second.created_at],
        [""],
      ],
    );
    const [, cursor] = /^More: --cursor (\S+)\n$/.exec(table.stderr) ?? [];
    assert.ok(cursor !== undefined, table.stderr);
    const more = await keelson([...list, "--cursor", cursor, "--json"], { env });
    assert.partialDeepStrictEqual(JSON.parse(more.stdout), { runs: [{ id: first.id }], next_cursor: null });
    const all = await keelson([...list, "--limit", "1", "--all", "--json"], { env });
    assert.equal((JSON.parse(all.stdout) as { runs: unknown[] }).runs.length, 2);
  });

  test("a token is made for a script, and a completion with other data is exit code 5", async () => {
    const created = await keelson(["token", "create", "--timeout", "1h", "--tag", "cli", "--json"], { env });
    const token = JSON.parse(created.stdout) as Record<string, string>;
    const { id = "", public_access_token: secret = "" } = token;
    assert.match((await keelson(["token", "create"], { env })).stdout, /callback url +http/);
    const complete = ["token", "complete", id];
    assert.equal((await keelson([...complete, "-"], { env, input: "[1]" })).stdout, "completed\n");
    assert.equal((await keelson([...complete, "--data", "[1]"], { env })).stdout, "already_completed\n");
    assert.equal((await keelson([...complete, "--data", "2"], { env })).code, 5);
    const shown = await keelson(["token", "get", id], { env });
    assert.match(shown.stdout, /status +completed\n[\s\S]*data +\[1\]\n/);
    assert.ok(!shown.stdout.includes(secret));
    const pending = await keelson(["token", "list", "--status", "pending", "--json"], { env });
    const { tokens } = JSON.parse(pending.stdout) as { tokens: { id: string }[] };
    assert.equal(tokens.length, 1);
    assert.equal((await keelson(["token", "cancel", tokens[0]?.id ?? ""], { env })).stdout, "cancelled\n");
    assert.match((await keelson(["token", "list"], { env })).stdout, new RegExp(`${id} +completed`));
  });

  test("every command says what it does and gives an example", async () => {
    const commands = [
      "up",
      "dev",
      "deploy",
      "serve",
      "agent",
      "migrate",
      "backup",
      "restore",
      "completion",
      "task list",
      "task start",
      "actor list",
      "actor start",
      "session start",
      "session list",
      "session get",
      "session send",
      "session read",
      "session close",
      "session cancel",
      "token create",
      "token list",
      "token get",
      "token complete",
      "token cancel",
      "run list",
      "run get",
      "run logs",
      "run events",
      "run wait",
      "run cancel",
      "deployment list",
      "deployment get",
      "deployment events",
      "deployment promote",
      "schedule create",
      "schedule list",
      "schedule get",
      "schedule activate",
      "schedule deactivate",
      "schedule delete",
      "schedule occurrences",
      "secret set",
      "secret list",
      "secret rotate",
      "secret revoke",
      "secret delete",
      "secret rewrap",
    ];
    const outcomes = await Promise.all(commands.map((command) => keelson([...command.split(" "), "--help"])));
    outcomes.forEach(({ code, stdout }, i) => {
      assert.equal(code, 0, commands[i]);
      assert.match(stdout, command(commands[i] as string), commands[i]);
    });
    function command(name: string): RegExp {
      return name === "completion"
        ? /Usage: keelson completion/
        : new RegExp(`Usage: keelson ${name}[\\s\\S]*Examples?:\\n {2}\\$ .*keelson`);
    }
  });

  test("completion offers the commands", async () => {
    assert.match((await spawnKeelson(["completion", "bash"])).stdout, /keelson/);
    assert.match((await spawnKeelson(["complete", "--", "run", ""])).stdout, /^wait\t/m);
    assert.match((await spawnKeelson(["complete", "--", "session", ""])).stdout, /^send\t/m);
    assert.equal((await spawnKeelson(["completion", "tcsh"])).code, 2);
  });
});

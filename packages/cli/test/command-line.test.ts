import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { suite, test } from "node:test";
import { CLI_VERSION } from "../src/version.ts";
import { SDK_VERSION } from "@keelson/sdk";
import { answer, createFolder, keelson, refuse, run, spawnKeelson, startServer, stream } from "./support.ts";

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
    await using server = await startServer((_request, response) => answer(response, 200, run()));
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
      [["--nonsense"], /unknown option/],
    ] as const) {
      const { code, stdout, stderr } = await keelson(args, { env: server.env });
      assert.match(stderr, message);
      assert.deepEqual([code, stdout], [2, ""], stderr);
    }
    assert.equal(server.requests.length, 0);
  });

  test("a flag wins over the environment, and that over the project's file", async () => {
    await using server = await startServer((_request, response) => answer(response, 200, run()));
    await using folder = await createFolder();
    await mkdir(join(folder.path, ".keelson"));
    await mkdir(join(folder.path, "deep/er"), { recursive: true });
    await writeFile(
      join(folder.path, ".keelson/credentials.json"),
      JSON.stringify({ url: server.url, api_key: "file" }),
    );
    const cwd = join(folder.path, "deep/er");
    const get = ["run", "get", "run_1"];
    assert.equal((await keelson(get, { cwd })).code, 0);
    assert.equal((await keelson(get, { cwd, env: { KEELSON_API_KEY: "env" } })).code, 0);
    assert.equal(
      (await keelson(["--api-key", "flag", ...get], { cwd, env: { KEELSON_API_KEY: "env" } })).code,
      0,
    );
    assert.equal((await keelson(get, { env: { KEELSON_DATA_DIR: join(folder.path, ".keelson") } })).code, 0);
    assert.deepEqual(
      server.requests.map(({ authorization }) => authorization),
      ["Bearer file", "Bearer env", "Bearer flag", "Bearer file"],
    );
    const elsewhere = await keelson([...get, "--url", "http://127.0.0.1:1"], { cwd });
    assert.match(elsewhere.stderr, /No API key for http:\/\/127\.0\.0\.1:1/);
    assert.equal(elsewhere.code, 2);
    assert.match((await keelson(get)).stderr, /No server: run `keelson up`/);
  });

  test("each refusal of the server has its exit code, and its words go to stderr", async () => {
    await using server = await startServer(({ path }, response) =>
      refuse(response, Number(path.split("/").at(-1)), "some_code"),
    );
    for (const [status, expected] of [
      [400, 1],
      [401, 3],
      [403, 3],
      [404, 4],
      [409, 5],
      [500, 1],
    ] as const) {
      const { code, stdout, stderr } = await keelson(["run", "get", String(status)], { env: server.env });
      assert.deepEqual(
        [code, stdout, stderr],
        [expected, "", "error: It is some_code\n  (some_code, request req-7)\n"],
      );
    }
    const { stderr } = await keelson(["run", "get", "404", "--json"], { env: server.env });
    assert.deepEqual(JSON.parse(stderr), {
      error: { code: "some_code", message: "It is some_code", details: null, request_id: "req-7" },
    });
  });

  test("a server that does not answer is exit code 6", { timeout: 60_000 }, async () => {
    const { code, stderr } = await keelson(["run", "get", "run_1"], {
      env: { KEELSON_URL: "http://127.0.0.1:9", KEELSON_API_KEY: "k" },
    });
    assert.match(stderr, /Cannot reach http:\/\/127\.0\.0\.1:9/);
    assert.equal(code, 6);
  });

  test("a started run is an id for a script, and the whole run with --json", async () => {
    await using server = await startServer((_request, response) => answer(response, 201, run()));
    const { env } = server;
    assert.deepEqual(
      await keelson(
        ["task", "start", "report", "-", "--tag", "a", "--tag", "b", "--delay", "2m", "--max-attempts", "4"],
        { env, input: `{"n": 1}` },
      ),
      { code: 0, stdout: "run_1\n", stderr: "" },
    );
    assert.deepEqual(server.requests[0]?.body, {
      payload: { n: 1 },
      tags: ["a", "b"],
      delay: "2m",
      retry: { max_attempts: 4 },
    });
    assert.deepEqual(
      JSON.parse((await keelson(["task", "start", "report", "--json"], { env })).stdout),
      run(),
    );
  });

  test("a followed run writes its output where the task wrote it, and its failure is exit code 7", async () => {
    let status = "failed";
    await using server = await startServer(({ path, method }, response) => {
      const chunk = (id: string, name: string, data: string) =>
        ["run_log", id, { id, stream: name, data: Buffer.from(data).toString("base64") }] as const;
      if (method === "POST") answer(response, 201, run());
      else if (path.includes("/logs"))
        stream(response, [
          chunk("1", "stdout", "to out\n"),
          chunk("2", "stderr", "to err\n"),
          ["end", "2", {}],
        ]);
      else if (path.startsWith("/api")) stream(response, [["end", "3", {}]]);
      else
        answer(
          response,
          200,
          run({
            status,
            attempt_number: 3,
            output: { ok: true },
            failure: status === "failed" ? { kind: "application_error", message: "disk full" } : null,
          }),
        );
    });
    const { env } = server;
    const failed = await keelson(["task", "start", "report", "--follow"], { env });
    assert.deepEqual([failed.code, failed.stdout], [7, "to out\n"]);
    assert.equal(failed.stderr, "Started run_1\nto err\nrun_1 failed (report, attempt 3 of 3): disk full\n");
    status = "succeeded";
    const succeeded = await keelson(["task", "start", "report", "--follow", "--quiet"], { env });
    assert.deepEqual(succeeded, { code: 0, stdout: `to out\n{\n  "ok": true\n}\n`, stderr: "to err\n" });
  });

  test("a wait that takes too long is exit code 124, and Ctrl-C 130", async () => {
    await using server = await startServer(
      (_request, response) =>
        void response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n"),
    );
    const { env } = server;
    const late = await keelson(["run", "wait", "run_1", "--timeout", "100ms"], { env });
    assert.match(late.stderr, /has not ended within 100 ms; it goes on/);
    assert.equal(late.code, 124);
    assert.equal(
      (
        await spawnKeelson(["run", "logs", "run_1", "-f"], {
          env,
          onSpawn: (child) => {
            const asked = setInterval(() => {
              if (server.requests.length < 2) return;
              clearInterval(asked);
              child.kill("SIGINT");
            }, 20);
          },
        })
      ).code,
      130,
    );
  });

  test("lists are tables for people and the wire's objects with --json", async () => {
    await using server = await startServer((_request, response) =>
      answer(response, 200, { runs: [run({ status: "running", attempt_number: 1 })], next_cursor: "abc" }),
    );
    const { env } = server;
    const table = await keelson(["run", "list", "--status", "running", "--status", "queued", "--tag", "x"], {
      env,
    });
    assert.deepEqual(
      table.stdout.split("\n").map((line) => line.split(/ {2,}/)),
      [
        ["RUN", "TASK", "STATUS", "ATTEMPT", "CREATED"],
        ["run_1", "report", "running", "1/3", "2026-11-20T09:15:00.123Z"],
        [""],
      ],
    );
    assert.equal(table.stderr, "More: --cursor abc\n");
    assert.equal(server.requests[0]?.path, "/v1/runs?limit=20&status=running&status=queued&tag=x");
    assert.partialDeepStrictEqual(JSON.parse((await keelson(["run", "list", "--json"], { env })).stdout), {
      runs: [{ id: "run_1" }],
      next_cursor: "abc",
    });
  });

  test("every command says what it does and gives an example", async () => {
    const commands = [
      "up",
      "dev",
      "deploy",
      "serve",
      "agent",
      "migrate",
      "completion",
      "task list",
      "task start",
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
    assert.equal((await spawnKeelson(["completion", "tcsh"])).code, 2);
  });
});

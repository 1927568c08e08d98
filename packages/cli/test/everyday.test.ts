// What people type every day: short names, many runs at once, and tables that a terminal can show.

import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { after, afterEach, before, suite, test } from "node:test";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { CLI_VERSION } from "../src/version.ts";
import { environmentOf, keelson, type Outcome } from "./support.ts";

suite("everyday commands", () => {
  let scene: RunScene;
  let env: Record<string, string>;
  before(async () => {
    scene = await startRunScene({
      tasks: [{ id: "report" }, { id: "a-task-with-a-name-that-is-much-too-long-for-a-narrow-terminal" }],
    });
    env = environmentOf(scene.server);
  });
  after(() => scene.stop());
  afterEach(() => scene.cancelAll());

  const run = (...args: string[]): Promise<Outcome> => keelson(args, { env });
  const says = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const statusOf = async (id: string): Promise<string> => (await scene.get(id)).status;

  test("plurals and short names are the commands", async () => {
    const { id } = await scene.start("report");
    const expected = await says("run", "list", "--json");
    for (const command of ["runs list", "run ls", "runs ls"])
      assert.equal(await says(...command.split(" "), "--json"), expected, command);
    assert.equal(await says("runs", "show", id, "--json"), await says("run", "get", id, "--json"));
    for (const command of [
      "tasks ls",
      "deployments ls",
      "deploys ls",
      "schedules ls",
      "secrets ls",
      "sessions ls",
      "tokens ls",
      "workspaces ls",
      "ws ls",
      "actors ls",
    ])
      assert.equal((await run(...command.split(" "), "--json")).code, 0, command);
    for (const command of ["envs", "projects", "keys", "members", "profiles"])
      assert.match((await run(command, "ls", "--help")).stdout, /Usage: keelson/, command);
  });

  test("`help` and `version` are commands", async () => {
    assert.equal(await says("version"), `${CLI_VERSION}\n`);
    assert.deepEqual(JSON.parse(await says("version", "--json")), { version: CLI_VERSION });
    assert.match(await says("help"), /Commands:[^]*deploy/);
    assert.equal(await says("help", "runs", "ls"), await says("run", "list", "--help"));
    const { code, stderr } = await run("help", "frobnicate");
    assert.equal(code, 2);
    assert.match(stderr, /no command frobnicate.*keelson help/);
  });

  test("a program's options without -- are explained before anything is sent", async () => {
    const { code, stdout, stderr } = await keelson(["workspace", "exec", "ws_1", "ls", "-la"], {
      env: { KEELSON_URL: "http://127.0.0.1:9", KEELSON_API_KEY: "k" },
    });
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /go after --.*\n.*keelson workspace exec ws_01k… -- ls -la/);
  });

  test("runs are cancelled by ids or by what they are, and a dry run cancels none", async () => {
    const ids = [];
    for (const tags of [["old"], ["old"], ["new"]]) ids.push((await scene.start("report", { tags })).id);
    const [first, second, third] = ids;
    const dry = await run("run", "cancel", "--tag", "old", "--dry-run");
    assert.deepEqual([dry.code, dry.stderr], [0, "Would cancel 2 runs. Nothing was changed.\n"]);
    assert.ok(dry.stdout.includes(first) && dry.stdout.includes(second) && !dry.stdout.includes(third));
    assert.equal(await statusOf(first), "queued");
    const unasked = await run("run", "cancel", "--tag", "old");
    assert.deepEqual([unasked.code, unasked.stdout], [2, ""]);
    assert.match(unasked.stderr, /Cancel 2 runs\?.*--yes/);
    assert.equal(await statusOf(first), "queued");
    const { runs, failed } = JSON.parse(await says("run", "cancel", "--tag", "old", "--yes", "--json"));
    assert.deepEqual(failed, []);
    assert.deepEqual(
      new Map(runs.map(({ id, status }: { id: string; status: string }) => [id, status])),
      new Map([second, first].map((id) => [id, "cancelled"])),
    );
    assert.equal(await statusOf(third), "queued");
    for (const [args, words] of [
      [["run", "cancel"], /Say which runs/],
      [["run", "cancel", third, "--tag", "new"], /either the ids/],
    ] as const) {
      const refused = await run(...args);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, words);
    }
    const mixed = await run("run", "cancel", third, "run_none", "tok_none");
    assert.deepEqual([mixed.code, mixed.stdout], [4, ""]);
    assert.match(mixed.stderr, /has no run run_none, tok_none\. Nothing was changed\./);
    assert.equal(await statusOf(third), "queued");
    const few = await run("run", "cancel", "--task", "report", "--limit", "1", "--yes");
    assert.equal(few.code, 0, "one matches");
    assert.equal(await statusOf(third), "cancelled");
  });

  test("runs are replayed with what they were started with", async () => {
    const options = {
      payload: { n: 1 },
      tags: ["again"],
      metadata: { by: "ada" },
      priority: 7,
      concurrency_key: "k",
    };
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.push((await scene.start("report", options)).id);
    await says("run", "cancel", ...ids);
    assert.match((await run("run", "replay", "--tag", "again", "--dry-run")).stderr, /Would replay 3 runs/);
    const replayed = (await says("run", "replay", "--tag", "again", "--yes")).trim().split("\n");
    assert.equal(new Set([...replayed, ...ids]).size, 6);
    for (const id of replayed) assert.partialDeepStrictEqual(await scene.get(id), options);
    const more = await run("run", "replay", "--status", "cancelled", "--limit", "2", "--yes");
    assert.equal(more.code, 2);
    assert.match(more.stderr, /More than 2 runs match/);
  });

  test("all runs that match are cancelled and replayed by a bulk action", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await scene.start("report", { tags: ["bulk"] })).id);
    const bulk = ["--all-matching", "--tag", "bulk"];
    for (const refused of [["--all-matching"], ["--all-matching", ids[0] as string], bulk])
      assert.equal((await run("run", "cancel", ...refused)).code, 2, refused.join(" "));
    const dry = await run("run", "cancel", ...bulk, "--dry-run");
    assert.match(dry.stderr, /Would cancel 3 runs. Nothing was changed/);
    assert.equal(await statusOf(ids[0] as string), "queued");
    const done = JSON.parse(await says("run", "cancel", ...bulk, "--yes", "--wait", "--json"));
    assert.partialDeepStrictEqual(done, { action: "cancel", status: "completed", matched: 3, done: 3 });
    assert.equal(await statusOf(ids[0] as string), "cancelled");
    const started = JSON.parse(await says("run", "replay", ...bulk, "--yes", "--json", "--reason", "fixed"));
    assert.partialDeepStrictEqual(started, { action: "replay", matched: 3, reason: "fixed" });
    const waited = await says("run", "bulk", "get", started.id, "--wait", "--items");
    assert.equal(waited.match(/run_\w+ {2}replayed {2}run_\w+/g)?.length, 3, waited);
    assert.match(await says("run", "bulk", "list"), new RegExp(started.id));
    assert.equal((await run("run", "bulk", "cancel", started.id)).code, 5);
    assert.match((await run("run", "cancel", ...ids, "--wait")).stderr, /--all-matching/);
    assert.match(
      (await run("run", "cancel", "--all-matching", "--tag", "none", "--yes")).stderr,
      /No runs match/,
    );
  });

  test("a table fits 80 columns, with ids whole and times relative", async () => {
    const { id } = await scene.start("a-task-with-a-name-that-is-much-too-long-for-a-narrow-terminal");
    for (const columns of [80, 100]) {
      const { stdout } = await keelson(["run", "list"], { env, columns });
      const lines = stripVTControlCharacters(stdout).split("\n");
      assert.ok(
        lines.every((line) => line.length <= columns),
        stdout,
      );
      assert.ok(lines[1]?.startsWith(`${id}  a-task-with-`), lines[1]);
      assert.match(lines[1] ?? "", /…/);
      assert.match(lines[1] ?? "", /(ago|in \d+[smhd])$/);
    }
    for (const command of ["deployment list", "task list", "schedule list", "secret list", "worker list"]) {
      const { stdout } = await keelson(command.split(" "), {
        env: { ...env, KEELSON_ADMIN_KEY: scene.server.credentials.admin_key },
        columns: 80,
      });
      for (const line of stripVTControlCharacters(stdout).split("\n")) assert.ok(line.length <= 80, line);
    }
    const { stdout } = await keelson(["run", "list"], { env });
    assert.match(
      stdout,
      /much-too-long-for-a-narrow-terminal +queued +\d{4}-\d\d-\d\dT/,
      "a log has all of it",
    );
  });

  test("`open` gives the address of the console's page", async () => {
    const person = {
      KEELSON_URL: scene.server.url,
      KEELSON_USER_TOKEN: scene.server.credentials.user_token,
      KEELSON_ENVIRONMENT: "production",
    };
    const { id } = await scene.start("report");
    const { stdout, stderr } = await keelson(["open", id], { env: person });
    assert.match(stdout, new RegExp(`^${scene.server.url}/e/env_\\w+/runs/${id}\n$`), stderr);
    const unknown = await keelson(["open", "nothing"], { env: person });
    assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
  });
});

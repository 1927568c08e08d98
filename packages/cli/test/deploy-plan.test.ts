// What `keelson deploy` says before it does it, and what it does not do unasked.

import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";
import { spawn as spawnOnTerminal } from "@lydell/node-pty";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addApiKey } from "../../server/test/support/tenancy.ts";
import { checkDeployments } from "./check-deployments.ts";
import { createFolder, environmentOf, keelson, type Outcome } from "./support.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");

suite("deploying", () => {
  let scene: RunScene;
  let env: Record<string, string>;
  let folder: Awaited<ReturnType<typeof createFolder>>;
  const stop = new AbortController();
  let checking: Promise<void>;
  before(async () => {
    scene = await startRunScene({ tasks: [] });
    env = environmentOf(scene.server);
    checking = checkDeployments(scene, stop.signal);
    folder = await createFolder();
    await symlink(modules, join(folder.path, "node_modules"));
    await mkdir(join(folder.path, "src/tasks"), { recursive: true });
  });
  after(async () => {
    stop.abort();
    await checking;
    await scene.stop();
    await folder[Symbol.asyncDispose]();
  });

  const write = (code: string): Promise<void> =>
    writeFile(
      join(folder.path, "src/tasks/a.ts"),
      `import { actor, sandbox, schedules, task } from "@keelson/sdk";\n${code}\n`,
    );
  const deploy = (...args: string[]): Promise<Outcome> =>
    keelson(["deploy", ...args], { cwd: folder.path, env });
  const tasks = async (): Promise<string[]> =>
    (await scene.call("GET", "/v1/deployments/current")).body.tasks.map(({ id }: { id: string }) => id);
  const REPORT = `export const report = task({ id: "report", secrets: ["MAIL_PASSWORD"], run: () => 1 });`;

  test("says which tasks only workers with the namespace tier run", async () => {
    await write(`export const strict = task({ id: "strict", isolation: "namespace", folders: ["/srv/models"], run: () => 1 });
      export const keen = actor({ id: "keen", isolation: "namespace", run: async () => {} });
      export const free = task({ id: "free", isolation: "process", run: () => 1 });`);
    const { code, stderr } = await deploy("--dry-run");
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /^Only workers with the namespace tier for tasks run strict, keen; .*keelson worker list/m,
    );
  });

  test("says what it adds, changes and removes, and which secrets are not there", async () => {
    await write(`${REPORT}
      export const old = task({ id: "old", run: () => 1 });
      export const chat = actor({ id: "chat", run: async () => {} });
      export const box = sandbox({ id: "box" });`);
    const first = await deploy();
    assert.equal(first.code, 0, first.stderr);
    for (const line of ["+ task     report", "+ task     old", "+ actor    chat", "+ sandbox  box"])
      assert.ok(first.stderr.includes(`  ${line}\n`), first.stderr);
    assert.match(
      first.stderr,
      /warning: .*no secret MAIL_PASSWORD, which report declares.*keelson secret set MAIL_PASSWORD/,
    );
    await keelson(["secret", "set", "MAIL_PASSWORD"], { env, input: "x" });
    await write(`${REPORT.replace("run:", 'maxDuration: "5m", run:')}
      export const summary = task({ id: "summary", run: () => 1 });`);
    const dry = await deploy("--dry-run");
    assert.deepEqual([dry.code, dry.stdout], [0, ""], dry.stderr);
    const { changes } = JSON.parse((await deploy("--dry-run", "--json")).stdout);
    assert.deepEqual(changes[0], { sign: "+", kind: "task", id: "summary", in_use: null });
    assert.deepEqual((await tasks()).toSorted(), ["old", "report"]);
    const second = await deploy();
    assert.equal(second.code, 0, second.stderr);
    for (const line of [
      "+ task     summary",
      "~ task     report",
      "- task     old",
      "- actor    chat",
      "- sandbox  box",
    ])
      assert.ok(second.stderr.includes(`  ${line}\n`), second.stderr);
    assert.doesNotMatch(second.stderr, /MAIL_PASSWORD/);
    const third = await deploy();
    assert.match(third.stderr, /Nothing changes/);
    assert.doesNotMatch(third.stderr, /namespace tier/);
  });

  test("without a terminal it refuses to remove what has live runs or schedules, until it is told --yes", async () => {
    await write(`${REPORT}
      export const old = task({ id: "old", run: () => 1 });
      export const planned = task({ id: "planned", run: () => 1 });
      schedules.task({ id: "nightly", task: planned, cron: "0 2 * * *" });`);
    assert.equal((await deploy()).code, 0);
    const run = await scene.start("old");
    await keelson(["schedule", "create", "--key", "k", "--task", "planned", "--cron", "* * * * *"], { env });
    await write(REPORT);
    const before = await tasks();
    const refused = await deploy();
    assert.deepEqual([refused.code, refused.stdout], [2, ""], refused.stderr);
    assert.match(refused.stderr, /- task {5}old {2}\(1 live run\)/);
    assert.match(refused.stderr, /- task {5}planned {2}\(1 active schedule\)/);
    assert.match(refused.stderr, /- schedule nightly {2}\(active\)/);
    assert.match(refused.stderr, /error: .*old.*planned.*--yes/);
    assert.deepEqual(await tasks(), before);
    assert.equal((await deploy("--no-promote")).code, 0, "what is current stays, so there is nothing to ask");
    assert.equal((await deploy("--yes")).code, 0);
    assert.deepEqual(await tasks(), ["report"]);
    assert.equal((await scene.get(run.id)).status, "queued", "its run goes on");
    await scene.cancelAll();
  });

  test("promote and rollback say what comes and goes, and ask as a deploy does", async () => {
    await write(`${REPORT}
      export const old = task({ id: "old", run: () => 1 });
      export const chat = actor({ id: "chat", run: async () => {} });
      schedules.task({ id: "nightly", task: old, cron: "0 2 * * *" });`);
    assert.equal((await deploy("--yes")).code, 0);
    const { version } = (await scene.call("GET", "/v1/deployments/current")).body;
    await write(`${REPORT}\nexport const fresh = task({ id: "fresh", run: () => 1 });`);
    assert.equal((await deploy("--yes")).code, 0);
    const run = await scene.start("fresh");
    const before = await tasks();

    const refused = await keelson(["rollback"], { env });
    assert.deepEqual([refused.code, refused.stdout], [2, ""], refused.stderr);
    for (const line of [
      "+ task     old",
      "- task     fresh  (1 live run)",
      "+ actor    chat",
      "+ schedule nightly",
    ])
      assert.ok(refused.stderr.includes(`  ${line}\n`), refused.stderr);
    assert.match(refused.stderr, /error: Remove task fresh from the current deployment\?.*--yes/);
    const same = await keelson(["promote", version], { env });
    assert.deepEqual([same.code, same.stdout], [2, ""], same.stderr);
    assert.deepEqual(await tasks(), before);

    const told = await keelson(["rollback", "--yes"], { env });
    assert.deepEqual([told.code, told.stdout], [0, `${version} is current\n`], told.stderr);
    assert.equal((await scene.get(run.id)).status, "queued", "its run goes on");
    const again = await keelson(["promote", version], { env });
    assert.deepEqual([again.code, again.stdout], [0, `${version} is current\n`], again.stderr);
    assert.match(again.stderr, /^Nothing changes/);
    await scene.cancelAll();
    await write(REPORT);
    assert.equal((await deploy("--yes")).code, 0);
  });

  test("a key that may not look at runs does not remove unasked", async () => {
    await write(`${REPORT}\nexport const old = task({ id: "old", run: () => 1 });`);
    assert.equal((await deploy()).code, 0);
    await write(REPORT);
    const key = await addApiKey(scene.server, [
      "deployments.create",
      "deployments.read",
      "deployments.promote",
    ]);
    const limited = { ...env, KEELSON_API_KEY: key };
    const refused = await keelson(["deploy"], { cwd: folder.path, env: limited });
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /this key may not read runs/);
    const told = await keelson(["deploy", "--yes"], { cwd: folder.path, env: limited });
    assert.equal(told.code, 0, told.stderr);
  });

  test("at a terminal it asks, and No changes nothing", { timeout: 60_000 }, async () => {
    await write(`${REPORT}\nexport const old = task({ id: "old", run: () => 1 });`);
    assert.equal((await deploy()).code, 0);
    await scene.start("old");
    await write(REPORT);
    const answer = async (text: string): Promise<{ code: number; screen: string }> => {
      const terminal = spawnOnTerminal(process.execPath, [...programArguments("cli/src/main.ts"), "deploy"], {
        cols: 80,
        rows: 24,
        cwd: folder.path,
        env: { ...bareEnvironment(), ...env, TERM: "xterm", NO_COLOR: "1" },
      });
      let screen = "";
      let isAsked = false;
      terminal.onData((part) => {
        screen += part;
        if (isAsked || !screen.includes("[y/N]")) return;
        isAsked = true;
        terminal.write(`${text}\r`);
      });
      return new Promise((done) => terminal.onExit(({ exitCode }) => done({ code: exitCode, screen })));
    };
    const no = await answer("n");
    assert.equal(no.code, 1, no.screen);
    assert.match(no.screen, /Nothing was changed/);
    assert.ok((await tasks()).includes("old"));
    const yes = await answer("y");
    assert.equal(yes.code, 0, yes.screen);
    assert.deepEqual(await tasks(), ["report"]);
    await scene.cancelAll();
  });
});

import assert from "node:assert/strict";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findExampleFiles } from "../src/up/find-examples.ts";
import { describeStartFailure } from "../src/up/describe-start-failure.ts";
import { keepAgent } from "../src/up/keep-agent.ts";
import { startDatabase } from "../src/up/start-database.ts";
import { createFolder } from "./support.ts";
import { argumentsOf, kill, makeUpSite, startUp, treeOf, until } from "./up-site.ts";

test(
  "an agent that dies is started again, and one that is stopped has ended by itself",
  { timeout: 30_000 },
  async () => {
    await using folder = await createFolder();
    const lives = join(folder.path, "lives");
    // Dies at its first start; at the second it says that it is ready, and ends a moment after SIGTERM.
    const program = `
    const { appendFileSync, existsSync } = require("node:fs");
    const first = !existsSync(process.argv[1]);
    if (first) {
      appendFileSync(process.argv[1], "died\\n");
      process.exit(9);
    }
    process.on("SIGTERM", () => setTimeout(() => { appendFileSync(process.argv[1], "drained\\n"); process.exit(0); }, 50));
    setInterval(() => undefined, 1000);
    appendFileSync(process.argv[1], "ready\\n");
  `;
    const told: string[] = [];
    const agent = keepAgent(
      [process.execPath, "--eval", program, lives],
      { PATH: process.env["PATH"] },
      (text) => told.push(text),
    );
    while (!(await readFile(lives, "utf8").catch(() => "")).includes("ready"))
      await new Promise(setImmediate);
    await agent.stop();
    assert.equal(await readFile(lives, "utf8"), "died\nready\ndrained\n");
    assert.deepEqual(told, ["The agent ended (exit code 9); starting it again in 200 ms"]);
  },
);

test("the examples are the projects that say they are", async () => {
  await using folder = await createFolder();
  assert.deepEqual(await findExampleFiles(folder.path), []);
  for (const [path, text] of [
    ["examples/b/package.json", `{"keelson": {}}`],
    ["examples/b/src/tasks/one.ts", ""],
    ["examples/a/package.json", `{"keelson": {"tasks": ["*.ts"]}}`],
    ["examples/a/two.ts", ""],
    ["examples/c/package.json", `{"name": "not-a-project-of-tasks"}`],
    ["examples/README.md", ""],
  ] as const) {
    await mkdir(join(folder.path, path, ".."), { recursive: true });
    await appendFile(join(folder.path, path), text);
  }
  assert.deepEqual(await findExampleFiles(folder.path), ["examples/a/two.ts", "examples/b/src/tasks/one.ts"]);
});

test("what keeps everything from starting is one line that says what to do", async () => {
  await using folder = await createFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");
  await assert.rejects(
    startDatabase(join(file, "data"), null, () => undefined),
    /^ExitError: Cannot write to .*data: make it writable, or set KEELSON_DATA_DIR/,
  );
  // Where making folders never succeeds, whoever asks.
  await assert.rejects(
    startDatabase("/proc/nowhere/deep", null, () => undefined),
    /Cannot write to \/proc\/nowhere\/deep/,
  );
  const taken = describeStartFailure(Object.assign(new Error("listen"), { code: "EADDRINUSE", port: 8080 }));
  assert.match(String(taken), /^ExitError: Port 8080 is taken: stop what uses it, or set PORT to another$/);
  const refused = describeStartFailure(new Error("The database was made by a newer Keelson."));
  assert.match(String(refused), /^ExitError: The database was made by a newer Keelson\.$/);
  const mistake = new TypeError("x is not a function");
  assert.equal(describeStartFailure(mistake), mistake);
});

test("no process is kept that has built the configuration", { timeout: 120_000 }, async () => {
  await using site = await makeUpSite();
  await writeFile(join(site.folder, "keelson.config.ts"), `export default { project: "shop" };`);
  const { exited, pids, said } = await startUp(site);
  const programs = (): string => treeOf(pids.up).map(argumentsOf).join("\n");
  await until(() => !programs().includes("esbuild"), 60_000, programs);
  assert.ok(programs().includes("postgres"), programs());
  kill(pids.up, "SIGTERM");
  await exited;
  assert.match(said(), /Ready in/);
});

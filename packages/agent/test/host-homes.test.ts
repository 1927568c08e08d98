import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { spawnSync } from "node:child_process";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { spawnAgent } from "./support/spawn-agent.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { until } from "../../server/test/support/until.ts";

type Home = { pid: number; cwd: string; tmp: string; files: string[] };

const SOURCE = bundleOf(
  {
    look: `return { pid: process.pid, cwd: process.cwd(), tmp: tmpdir(), files: [process.cwd(), tmpdir()].flatMap((path) => readdirSync(path)) };`,
    // Everything that may be in the way of a removal.
    litter: `
      writeFileSync("kept.txt", "x");
      mkdirSync("closed/inner", { recursive: true });
      writeFileSync("closed/inner/file", "x");
      symlinkSync(payload, "link");
      symlinkSync(payload, tmpdir() + "/link");
      symlinkSync(payload, "closed/inner/link");
      for (const path of ["closed/inner/file", "closed/inner", "closed"]) chmodSync(path, path.endsWith("file") ? 0o400 : 0o500);
      const start = process.cwd();
      for (let depth = 0; depth < 60; depth += 1) { mkdirSync("d".repeat(100)); process.chdir("d".repeat(100)); }
      return { pid: process.pid, cwd: start, tmp: tmpdir(), files: [] };`,
    remove: `rmSync(process.cwd(), { recursive: true }); return { pid: process.pid, cwd: "", tmp: "", files: [] };`,
    crash: `process.exit(3);`,
    hold: `writeFileSync("kept.txt", "x"); console.log(process.cwd()); await new Promise(() => {});`,
  },
  `import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
  import { tmpdir } from "node:os";`,
);

async function homeOf(run: RunRecord): Promise<Home> {
  const release = await run.released;
  assert.equal(release.outcome, "succeeded", JSON.stringify(release.failure));
  return release.output as Home;
}

async function makeOutside(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-outside-"));
  cleanUp(t, () => removeTestFolder(folder));
  await writeFile(join(folder, "precious"), "kept");
  return folder;
}

const isGone = (path: string): Promise<void> =>
  until(`${path} to be gone`, 60_000, async () => !existsSync(path));

for (const execution of ["exclusive", "shared"] as const) {
  test(`each ${execution} process has an empty working directory and TMPDIR of its own, of nobody else`, async (t) => {
    const { server, dataDir } = await startTestAgent(t);
    const [one, other] = [server.putBundle(SOURCE), server.putBundle(`${SOURCE}\n// another`)];
    const homes = [
      await homeOf(server.enqueue({ digest: one, execution, task: "look" })),
      await homeOf(server.enqueue({ digest: other, execution, task: "look" })),
    ];
    const paths = homes.flatMap(({ cwd, tmp }) => [cwd, tmp]);
    assert.equal(new Set(paths).size, 4);
    for (const path of paths) assert.ok(path.startsWith(`${dataDir}/`), path);
    assert.deepEqual(
      homes.flatMap(({ files }) => files),
      [],
    );
  });

  test(`the folders of a ${execution} process go when it ends, and nothing outside of them`, async (t) => {
    const outside = await makeOutside(t);
    const { server, agent, dataDir } = await startTestAgent(t);
    const digest = server.putBundle(SOURCE);
    const { cwd } = await homeOf(server.enqueue({ digest, execution, task: "litter", payload: outside }));
    assert.ok(existsSync(join(cwd, "kept.txt")));
    await server.enqueue({ digest, execution, task: "crash" }).released;
    await isGone(cwd);
    const next = await homeOf(server.enqueue({ digest, execution, task: "look" }));
    await agent.stop();
    assert.ok(!existsSync(next.cwd) && !existsSync(next.tmp));
    assert.equal(await readFile(join(outside, "precious"), "utf8"), "kept");
    const left = (await readdir(dataDir, { recursive: true })).filter((name) => /\/(work|tmp)\b/.test(name));
    assert.deepEqual(left, []);
  });
}

test("a run that removes its working directory takes it from no later run", async (t) => {
  const { server } = await startTestAgent(t);
  const digest = server.putBundle(SOURCE);
  const { pid } = await homeOf(server.enqueue({ digest, task: "remove" }));
  const next = await homeOf(server.enqueue({ digest, task: "look" }));
  assert.equal(next.pid, pid);
  assert.deepEqual(next.files, []);
});

test("what a killed agent left is removed when it starts again", { timeout: 60_000 }, async (t) => {
  const outside = await makeOutside(t);
  const server = await startAgentServer(t);
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  cleanUp(t, () => removeTestFolder(dataDir));
  const environment = { ...server.settings, KEELSON_DATA_DIR: dataDir, KEELSON_AGENT_NAME: "again" };
  const agent = await spawnAgent(t, environment);
  const digest = server.putBundle(SOURCE);
  const { cwd } = await homeOf(server.enqueue({ digest, task: "litter", payload: outside }));
  const held = server.enqueue({ digest, task: "hold" });
  await held.outputHas("stdout", "\n");
  agent.child.kill("SIGKILL");
  await agent.exited;
  assert.ok(existsSync(cwd));
  await spawnAgent(t, environment);
  await Promise.all([isGone(cwd), isGone(held.output("stdout").toString().trim())]);
  assert.equal(await readFile(join(outside, "precious"), "utf8"), "kept");
});

test("a tree is removed by a user who is not root, whatever is read-only in it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-tree-"));
  cleanUp(t, () => removeTestFolder(folder));
  const outside = await makeOutside(t);
  const tree = join(folder, "tree");
  await mkdir(join(tree, "closed/inner"), { recursive: true });
  await writeFile(join(tree, "closed/inner/file"), "x");
  await symlink(outside, join(tree, "closed/inner/link"));
  await chmod(folder, 0o777);
  await chmod(outside, 0o755);
  const module = JSON.stringify(new URL("../../workspace-tree/src/remove-folder.ts", import.meta.url).href);
  const script = `
    const { removeFolder } = await import(${module});
    const { chownSync, chmodSync } = await import("node:fs");
    const { join } = await import("node:path");
    const tree = ${JSON.stringify(tree)};
    const owned = ["closed/inner/link", "closed/inner/file", "closed/inner", "closed", "."].map((name) => join(tree, name));
    if (process.getuid() === 0) {
      const { lchownSync } = await import("node:fs");
      for (const path of owned) lchownSync(path, 65534, 65534);
      process.setgid(65534);
      process.setuid(65534);
    }
    chmodSync(join(tree, "closed/inner"), 0o500);
    chmodSync(join(tree, "closed"), 0o000);
    await removeFolder(tree);`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  assert.ok(!existsSync(tree));
  assert.equal(await readFile(join(outside, "precious"), "utf8"), "kept");
});

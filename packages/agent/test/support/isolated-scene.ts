// An agent whose runs are in the namespace tier, and a bundle whose tasks attack from there and work there.

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { bundleOf } from "./bundles.ts";
import type { RunRecord } from "./run-record.ts";
import type { RunOptions } from "./start-agent-server.ts";
import { startTestAgent } from "./start-test-agent.ts";
import { probeHere } from "./start-test-supervisor.ts";
import { cleanUp } from "./clean-up.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";

const { isolation, problems } = await probeHere();
/** Why tests of the tier are skipped here; false where they run. */
export const skip =
  isolation === "namespace" ? false : `no namespace tier on this machine: ${problems.join(" ")}`;
/** Environments of its runs. */
export const [ONE, OTHER] = ["one", "other"];

export const SOURCE = bundleOf(
  {
    who: `
      writeFileSync("in-cwd", ""); writeFileSync(tmpdir() + "/in-tmp", ""); writeFileSync(homedir() + "/in-home", "");
      globalThis.runs = (globalThis.runs ?? 0) + 1;
      return { uid: process.getuid(), gid: process.getgid(), pid: process.pid, cwd: process.cwd(), tmp: tmpdir(), home: homedir(),
        name: nameOf(), bundle: fileURLToPath(import.meta.url), runs: globalThis.runs,
        status: readFileSync("/proc/self/status", "utf8"), fds: readdirSync("/proc/self/fd").map(kindOf),
        pids: readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)), list: readdirSync("/"), etc: readdirSync("/etc"),
        environment: process.env };`,
    attack: `
      const outcomes = {};
      const attempt = (name, act) => {
        try { act(); outcomes[name] = "succeeded"; } catch (error) { outcomes[name] = error.info?.code ?? error.code; }
      };
      for (const path of payload.read) attempt("read " + path, () => readFileSync(path));
      for (const path of payload.list) attempt("list " + path, () => readdirSync(path));
      for (const path of payload.write) attempt("write " + path, () => writeFileSync(path, "attacked"));
      for (const pid of payload.pids) {
        attempt("read /proc/" + pid + "/environ", () => readFileSync("/proc/" + pid + "/environ"));
        attempt("list /proc/" + pid + "/root", () => readdirSync("/proc/" + pid + "/root/"));
        attempt("signal " + pid, () => process.kill(pid, 0));
      }
      return outcomes;`,
    shell: `
      const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", payload], { encoding: "utf8" });
      return { status, stdout, stderr };`,
    grow: `const held = []; for (;;) { held.push(Buffer.alloc(16 * 1024 * 1024, 1)); await new Promise((resolve) => setTimeout(resolve, 20)); }`,
    exit: `process.exit(payload);`,
    abort: `process.kill(process.pid, payload);  await new Promise(() => setInterval(() => {}, 1000));`,
    uncaught: `setTimeout(() => { throw new Error("not caught"); }); await new Promise(() => setInterval(() => {}, 1000));`,
    fail: `console.log("before"); console.error("the failure"); throw new Error("of the task");`,
    hang: `
      const child = spawn("/bin/sh", ["-c", "exec sleep 600"], { detached: true, stdio: "ignore", env: {} });
      child.unref();
      console.log("hanging"); for (;;);`,
    reach: `return (await fetch(payload)).status;`,
  },
  `import { spawn, spawnSync } from "node:child_process";
  import { readFileSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
  import { homedir, tmpdir, userInfo } from "node:os";
  import { fileURLToPath } from "node:url";
  const nameOf = () => { try { return userInfo().username; } catch { return null; } };
  const kindOf = (fd) => { try { return fd + " " + readlinkSync("/proc/self/fd/" + fd).replace(/:.*/, ""); } catch { return "itself"; } };`,
);

// What a task gave is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
export type Output = any;

export async function outputOf(run: RunRecord): Promise<Output> {
  const release = await run.released;
  assert.equal(release.outcome, "succeeded", JSON.stringify(release.failure));
  return release.output;
}

export type Scene = Awaited<ReturnType<typeof startTestAgent>> & {
  run(task: string, payload?: unknown, options?: Partial<RunOptions>): RunRecord;
  /** A folder of the machine that all users may enter. */
  folder(name: string): Promise<string>;
};

/** @param isOpen whether other users than the agent's may enter the data folder: it decides who sets sandboxes up. */
export async function startIsolatedScene(t: TestContext, isOpen = true): Promise<Scene> {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), "keelson-isolated-")));
  if (isOpen) await chmod(dataDir, 0o711);
  const outside = await realpath(await mkdtemp(join(tmpdir(), "keelson-outside-")));
  await chmod(outside, 0o755);
  for (const folder of [dataDir, outside]) cleanUp(t, () => removeTestFolder(folder));
  const scene = await startTestAgent(t, { dataDir });
  const digest = scene.server.putBundle(SOURCE);
  return {
    ...scene,
    dataDir,
    run: (task, payload = null, options = {}) =>
      scene.server.enqueue({ digest, task, payload, isolation: "namespace", environment: ONE, ...options }),
    folder: async (name) => {
      const path = join(outside, name);
      await mkdir(path);
      await chmod(path, 0o777);
      return path;
    },
  };
}

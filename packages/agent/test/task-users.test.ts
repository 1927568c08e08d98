// Code of a task attacks the agent, the machine's files and the tasks of another environment, on an agent that is root.

import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { StartAgentOptions } from "@keelson/agent";
import { TASK_UIDS, WORKSPACE_UIDS } from "../src/sandboxes/uid-ranges.ts";
import { hasEnded, isAlive } from "./support/alive.ts";
import { bundleOf } from "./support/bundles.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { spawnAgent } from "./support/spawn-agent.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";
import { withoutOtherUsers } from "./support/without-other-users.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";

const skip = await withoutOtherUsers();
const [ONE, OTHER] = ["one", "other"];

const SOURCE = bundleOf(
  {
    who: `
      writeFileSync("in-cwd", ""); writeFileSync(tmpdir() + "/in-tmp", ""); writeFileSync(homedir() + "/in-home", "");
      return { uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), pid: process.pid, ppid: process.ppid,
        cwd: process.cwd(), tmp: tmpdir(), home: homedir(), bundle: fileURLToPath(import.meta.url),
        caps: /CapEff:\\s*(\\S+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]};`,
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
        attempt("open /proc/" + pid + "/mem", () => closeSync(openSync("/proc/" + pid + "/mem", "r")));
        attempt("list /proc/" + pid + "/fd", () => readdirSync("/proc/" + pid + "/fd"));
        attempt("enter /proc/" + pid + "/cwd", () => readdirSync("/proc/" + pid + "/cwd/"));
        attempt("signal " + pid, () => process.kill(pid, 0));
        attempt("limit " + pid, () => setPriority(pid, 19));
      }
      return outcomes;`,
    leave: `
      const child = spawn("/bin/sh", ["-c", "exec sleep 600"], { detached: true, stdio: "ignore", env: {} });
      child.unref();
      return child.pid;`,
  },
  `import { spawn } from "node:child_process";
  import { closeSync, openSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
  import { homedir, setPriority, tmpdir } from "node:os";
  import { fileURLToPath } from "node:url";`,
);

type Who = Record<"uid" | "gid" | "pid" | "ppid", number> &
  Record<"cwd" | "tmp" | "home" | "bundle" | "caps", string> & { groups: number[] };

async function outputOf<T>(run: RunRecord): Promise<T> {
  const release = await run.released;
  assert.equal(release.outcome, "succeeded", JSON.stringify(release.failure));
  return release.output as T;
}

/** A data folder that other users may pass, as one below /var/lib is. */
async function openDataFolder(t: TestContext): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-open-"));
  await chmod(dataDir, 0o711);
  cleanUp(t, () => removeTestFolder(dataDir));
  return dataDir;
}

const startOpenAgent = async (t: TestContext, options: Partial<StartAgentOptions> = {}) =>
  startTestAgent(t, { dataDir: await openDataFolder(t), ...options });

const listFiles = async (folder: string): Promise<{ files: string[]; folders: string[] }> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const pathsOf = (isWanted: (entry: (typeof entries)[number]) => boolean) =>
    entries.filter(isWanted).map((entry) => join(entry.parentPath, entry.name));
  return {
    files: pathsOf((entry) => entry.isFile()),
    folders: [folder, ...pathsOf((entry) => entry.isDirectory())],
  };
};

const isIn = (uid: number, ranges: typeof TASK_UIDS): boolean =>
  ranges.some(({ first, count }) => uid >= first && uid < first + count);

test("no uid is of tasks and of workspaces", () => {
  for (const tasks of TASK_UIDS)
    for (const workspaces of WORKSPACE_UIDS)
      assert.ok(
        tasks.first + tasks.count <= workspaces.first || workspaces.first + workspaces.count <= tasks.first,
      );
});

for (const execution of ["exclusive", "shared"] as const) {
  test(
    `the ${execution} tasks of an environment have a user of their own, who may do what tasks do`,
    { skip },
    async (t) => {
      const { server } = await startOpenAgent(t);
      const digest = server.putBundle(SOURCE);
      const whoIs = (environment: string) =>
        outputOf<Who>(server.enqueue({ digest, execution, environment, task: "who" }));
      const [one, other, again] = [await whoIs(ONE), await whoIs(OTHER), await whoIs(ONE)];
      assert.ok(isIn(one.uid, TASK_UIDS) && isIn(other.uid, TASK_UIDS), JSON.stringify([one, other]));
      assert.notEqual(one.uid, other.uid);
      assert.equal(again.uid, one.uid);
      assert.deepEqual([one.gid, one.groups.filter((group) => group !== one.gid)], [one.uid, []]);
      assert.match(one.caps, /^0+$/);
    },
  );

  test(`a ${execution} task reaches nothing of the agent and of another environment`, { skip }, async (t) => {
    const { server } = await startOpenAgent(t);
    const digest = server.putBundle(SOURCE);
    const foreign = server.putBundle(`${SOURCE}\n// of the other environment`);
    const victim = await outputOf<Who>(
      server.enqueue({ digest: foreign, execution, environment: OTHER, task: "who" }),
    );
    const own = await outputOf<Who>(server.enqueue({ digest, execution, environment: ONE, task: "who" }));
    const data = victim.cwd.slice(0, victim.cwd.indexOf("/agents/"));
    await writeFile(join(data, "credentials.json"), "secret", { mode: 0o600 });
    const { files, folders } = await listFiles(data);
    const isOwn = (path: string): boolean =>
      path === own.bundle ||
      [own.cwd, own.tmp, own.home].some((folder) => `${path}/`.startsWith(`${folder}/`));
    const targets = {
      read: files.filter((path) => !isOwn(path)),
      write: files.filter((path) => !isOwn(path)),
      list: folders.filter((path) => !isOwn(path)),
      pids: [own.ppid, victim.pid],
    };
    assert.ok(targets.read.includes(victim.bundle) && targets.list.includes(victim.cwd));
    const outcomes = await outputOf<Record<string, string>>(
      server.enqueue({ digest, execution, environment: ONE, task: "attack", payload: targets }),
    );
    const reached = Object.entries(outcomes).filter(([, outcome]) => !/^E(ACCES|PERM)$/.test(outcome));
    // The folder that is above its own three is its own, too.
    assert.deepEqual(
      reached.filter(([name]) => name !== `list ${join(own.cwd, "..")}`),
      [],
    );
    assert.ok(isAlive(victim.pid));
  });
}

test(
  "an environment keeps its user when the agent starts again, and agents that share a data folder share no user",
  { skip },
  async (t) => {
    const dataDir = await openDataFolder(t);
    const server = await startAgentServer(t);
    const digest = server.putBundle(SOURCE);
    const begin = async () => {
      const { agent } = await startTestAgent(t, { dataDir, on: server });
      const { uid } = await outputOf<Who>(server.enqueue({ digest, environment: ONE, task: "who" }));
      // The next run is the next agent's.
      server.silence(agent.workerId);
      return { agent, uid };
    };
    const first = await begin();
    const beside = await begin();
    assert.notEqual(beside.uid, first.uid);
    await first.agent.stop();
    const again = await begin();
    assert.equal(again.uid, first.uid);
  },
);

test(
  "what a task left without the mark and outside of its group ends with its environment's last process",
  { skip },
  async (t) => {
    const { server, agent } = await startOpenAgent(t);
    const digest = server.putBundle(SOURCE);
    const pid = await outputOf<number>(server.enqueue({ digest, environment: ONE, task: "leave" }));
    assert.ok(isAlive(pid));
    await agent.stop();
    await hasEnded(pid);
  },
);

test("what a task left of a killed agent ends when it starts again", { skip }, async (t) => {
  const server = await startAgentServer(t);
  const environment = {
    ...server.settings,
    KEELSON_DATA_DIR: await openDataFolder(t),
    KEELSON_AGENT_NAME: "again",
  };
  const agent = await spawnAgent(t, environment);
  const digest = server.putBundle(SOURCE);
  const pid = await outputOf<number>(server.enqueue({ digest, environment: ONE, task: "leave" }));
  agent.child.kill("SIGKILL");
  await agent.exited;
  assert.ok(isAlive(pid), "the reaper found what it cannot know of");
  await spawnAgent(t, environment);
  await hasEnded(pid);
});

test(
  "where users cannot enter the data folder, tasks run as root, and the log says which folder is closed",
  { skip },
  async (t) => {
    const { server, logged, dataDir } = await startTestAgent(t);
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
    const digest = server.putBundle(SOURCE);
    const { uid } = await outputOf<Who>(server.enqueue({ digest, environment: ONE, task: "who" }));
    assert.equal(uid, 0);
    const warning = logged.find(
      ({ level, message }) => level === "warn" && message.includes("tasks run as root"),
    );
    assert.ok(warning !== undefined, JSON.stringify(logged));
    assert.match(JSON.stringify(warning), new RegExp(`chmod o\\+x ${dataDir}`));
  },
);

test("a bundle that two environments share is stored once, and read by both", { skip }, async (t) => {
  const { server } = await startOpenAgent(t);
  const digest = server.putBundle(SOURCE);
  const bundles = [];
  for (const environment of [ONE, OTHER])
    bundles.push((await outputOf<Who>(server.enqueue({ digest, environment, task: "who" }))).bundle);
  assert.notEqual(bundles[0], bundles[1]);
  const inodes = await Promise.all(bundles.map(async (path) => (await stat(path)).ino));
  assert.equal(inodes[0], inodes[1]);
  assert.ok(existsSync(bundles[0] as string) && (await readFile(bundles[0] as string, "utf8")) === SOURCE);
});

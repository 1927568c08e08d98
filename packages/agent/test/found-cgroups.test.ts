import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import { enable, readCgroupFacts } from "../src/limits/cgroup-base.ts";
import { openWorkspaceCgroups } from "../src/limits/workspace-cgroup.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { cleanUp } from "./support/clean-up.ts";
import { noControllers, noCpuController, realBase } from "./support/real-cgroups.ts";

const USER = 65_534;
const mount = noControllers === false ? (readCgroupFacts().mount ?? "") : "";
const NEEDED = ["memory", "pids"];
const asRoot = process.getuid?.() === 0 ? false : "only root gives a part of a cgroup to another user";

/** Looks as an agent does at its start, from a cgroup that it enters first. */
const LOOK = `
  import { writeFileSync } from "node:fs";
  import { findCgroups } from ${JSON.stringify(new URL("../src/limits/find-cgroups.ts", import.meta.url).href)};
  const [home, entered, uid] = process.argv.slice(1);
  if (entered !== "") writeFileSync(entered + "/cgroup.procs", String(process.pid));
  if (uid !== "") { process.setgroups([]); process.setgid(Number(uid)); process.setuid(Number(uid)); }
  const log = (fields, message) => console.log(JSON.stringify({ ...fields, message }));
  await findCgroups(home, { debug: log, info: log, warn: log, error: log });`;

type Said = { message: string; reason?: string; folder?: string; controllers?: string[] };

async function look(home: string, entered: string, uid: number | null = null): Promise<Said> {
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", LOOK, home, entered, String(uid ?? "")],
    {
      // A session of its own, as a service has, whoever runs the tests.
      ...{ stdio: ["ignore", "pipe", "inherit"], detached: true },
    },
  );
  return JSON.parse(await text(child.stdout)) as Said;
}

/** The cgroup of a service; it goes with the test, with all below it. */
function makeService(t: TestContext, controllers: string[] = NEEDED): string {
  const parent = join(realBase, `keelson-test-${randomUUID()}`);
  mkdirSync(parent);
  enable(parent, controllers);
  const service = join(parent, "service");
  mkdirSync(service);
  cleanUp(t, () => removeTree(parent));
  return service;
}

function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  rmdirSync(folder);
}

function makeHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "keelson-home-"));
  cleanUp(t, () => rmSync(home, { recursive: true, force: true }));
  chmodSync(home, 0o755);
  return home;
}

describe("an agent that starts in a cgroup of its own", { skip: noControllers }, () => {
  test("says that cgroups limit workspaces, and by which controllers", async (t) => {
    const service = makeService(t);
    assert.deepEqual(await look(makeHome(t), service), {
      ...{ folder: service, controllers: NEEDED, message: "cgroups limit workspaces" },
    });
  });

  for (const [name, wrapper, told] of [
    [
      "a namespace of cgroups hides the place of its own",
      ["unshare", "--cgroup"],
      /its mount does not show the agent's own cgroup/,
    ],
    [
      "they may only be read, as in most containers",
      ["unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro "$0" && exec "$@"', mount],
      /read-only file system/,
    ],
  ] as const)
    test(`makes none where ${name}`, { skip: asRoot }, async (t) => {
      const enter = 'echo 0 > "$1/cgroup.procs" && shift && exec "$@"';
      const looking = [process.execPath, "--input-type=module", "-e", LOOK, makeHome(t), "", ""];
      const child = spawn("sh", ["-c", enter, "sh", makeService(t), ...wrapper, ...looking], {
        ...{ stdio: ["ignore", "pipe", "inherit"], detached: true },
      });
      const { message, reason } = JSON.parse(await text(child.stdout)) as Said;
      assert.match(message, /^workspaces have no cgroups here/);
      assert.match(reason ?? "", told);
    });

  test(
    "does without parts of a core where only that is not allowed",
    { skip: noCpuController || asRoot },
    async (t) => {
      const service = makeService(t, [...NEEDED, "cpu"]);
      const leaf = join(service, "agent");
      mkdirSync(leaf);
      enable(service, NEEDED);
      for (const path of [service, join(service, "cgroup.procs")]) chownSync(path, USER, USER);
      assert.deepEqual(await look(makeHome(t), leaf, USER), {
        ...{ folder: service, controllers: NEEDED, message: "cgroups limit workspaces" },
      });
    },
  );

  test("removes the cgroups of workspaces that no supervisor is left of", async (t) => {
    const [service, home] = [makeService(t), makeHome(t)];
    const leaf = join(service, "agent");
    mkdirSync(leaf);
    enable(service, NEEDED);
    const cgroups = openWorkspaceCgroups({ folder: service, controllers: NEEDED }, home);
    const none = { processes: 10, memoryMebibytes: null, cores: null };
    const [left, supervised] = ["mat_left", "mat_supervised"].map((id) => cgroups.create(id, none));
    mkdirSync(supervisorFolder(home, "mat_supervised"), { recursive: true });
    assert.equal((await look(home, leaf)).message, "cgroups limit workspaces");
    assert.deepEqual(
      [left, supervised].map((place) => existsSync(place as string)),
      [false, true],
    );
  });

  test("says that they do not where there is no controller for memory", async (t) => {
    const service = makeService(t, ["pids"]);
    const { message, reason } = await look(makeHome(t), service);
    assert.match(message, /^workspaces have no cgroups here/);
    assert.match(reason ?? "", /has no controller for memory\.$/);
  });

  test(
    "says that they do not where it may make cgroups, and move nothing to them",
    { skip: asRoot },
    async (t) => {
      const service = makeService(t);
      const leaf = join(service, "agent");
      mkdirSync(leaf);
      enable(service, NEEDED);
      // The folder alone, without the file by which processes move.
      chownSync(service, USER, USER);
      assert.equal(statSync(join(service, "cgroup.procs")).uid, 0);
      const { message, reason } = await look(makeHome(t), leaf, USER);
      assert.match(message, /^workspaces have no cgroups here/);
      assert.match(reason ?? "", /^No process can be moved to .*: give the agent the whole of its cgroup/);
      const made = readdirSync(service).find((name) => name.startsWith("workspaces-")) ?? "";
      assert.equal(existsSync(join(service, made, "probe")), false);
    },
  );
});

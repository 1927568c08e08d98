import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import {
  locateCgroup,
  openCgroupBase,
  readCgroupFacts,
  type CgroupFacts,
} from "../src/limits/cgroup-base.ts";
import { countMemoryEvents, killMembers, openWorkspaceCgroups } from "../src/limits/workspace-cgroup.ts";
import { noCgroups, openRealCgroups, realBase } from "./support/real-cgroups.ts";
import { isAlive } from "./support/alive.ts";
import { startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const own: Omit<CgroupFacts, "mount" | "own"> = { hasTerminal: false, parentOf: () => null };
const limits = { processes: 10, memoryMebibytes: 64, cores: 0.5 };

const mountLine = (top: string, mount: string): string =>
  `30 23 0:26 ${top} ${mount} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n`;
const HOST = mountLine("/", "/sys/fs/cgroup");

for (const [name, mounts, own, found] of [
  ["on a machine", HOST, "/a.service", { mount: "/sys/fs/cgroup", own: "/a.service" }],
  [
    "with the controllers in v1",
    mountLine("/", "/sys/fs/cgroup/unified"),
    "/",
    { mount: "/sys/fs/cgroup/unified", own: "/" },
  ],
  [
    "where a part of the tree is mounted",
    mountLine("/box", "/cg"),
    "/box/agent",
    { mount: "/cg", own: "/agent" },
  ],
  ["where just its own is mounted", mountLine("/box", "/cg"), "/box", { mount: "/cg", own: "/" }],
  [
    "where another part is mounted",
    mountLine("/box", "/cg"),
    "/boxes/agent",
    { mount: null, own: "/boxes/agent" },
  ],
  [
    "in a namespace that sees the machine's mount",
    mountLine("/../..", "/sys/fs/cgroup"),
    "/",
    { mount: null, own: "/" },
  ],
  ["outside of its namespace", HOST, "/../b.service", { mount: null, own: "/../b.service" }],
  [
    "under two mounts at one place",
    HOST + mountLine("/box", "/sys/fs/cgroup"),
    "/box",
    { mount: "/sys/fs/cgroup", own: "/" },
  ],
  ["without cgroup v2", "", "/", { mount: null, own: "/" }],
] as const)
  test(`an agent's own cgroup is found ${name}`, () => {
    assert.deepEqual(locateCgroup(mounts, `4:memory:/v1\n0::${own}\n`), found);
  });

/** Plain files where the kernel would have its own: how paths are chosen and what is written. */
function fakeMount(t: TestContext, files: Record<string, string>): string {
  const mount = mkdtempSync(join(tmpdir(), "keelson-cgroup-"));
  cleanUp(t, () => rmSync(mount, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(mount, path, ".."), { recursive: true });
    writeFileSync(join(mount, path), content);
  }
  return mount;
}

for (const [name, facts, files, reason] of [
  ["there is no cgroup v2", { mount: null, own: "/" }, {}, /cgroup v2 is not mounted/],
  [
    "controllers are missing",
    { own: "/" },
    { "cgroup.controllers": "cpu pids\n" },
    /no controller for memory/,
  ],
  [
    "the agent is in a terminal's cgroup",
    { own: "/scope", hasTerminal: true },
    { "scope/cgroup.controllers": "memory pids", "scope/cgroup.type": "domain" },
    /runs in a terminal/,
  ],
  [
    "others are in the agent's cgroup",
    { own: "/service" },
    {
      "service/cgroup.controllers": "memory pids",
      "service/cgroup.type": "domain",
      "service/cgroup.procs": `${process.pid}\n1\n`,
    },
    /Other processes than the agent's service/,
  ],
] as const)
  test(`an agent has no cgroups for its workspaces when ${name}`, (t) => {
    const mount = fakeMount(t, files);
    assert.throws(() => openCgroupBase({ ...own, mount, ...facts }), reason);
  });

test("an agent that was started in a leaf uses the cgroup above it, and writes the limits of a workspace", (t) => {
  const mount = fakeMount(t, {
    "service/cgroup.controllers": "cpu memory pids io\n",
    "service/cgroup.subtree_control": "memory\n",
    "service/cgroup.type": "domain\n",
    "service/agent/cgroup.procs": "",
  });
  const base = openCgroupBase({ ...own, mount, own: "/service/agent" });
  assert.deepEqual(base, { folder: join(mount, "service"), controllers: ["memory", "pids", "cpu"] });
  // The kernel makes this one with its folder.
  assert.throws(() => openWorkspaceCgroups(base, "/home"), /subtree_control/);
  const name = readdirSync(base.folder).find((entry) => entry.startsWith("workspaces-")) ?? "";
  writeFileSync(join(base.folder, name, "cgroup.subtree_control"), "memory pids cpu");
  const cgroups = openWorkspaceCgroups(base, "/home");
  const place = cgroups.create("mat_x", limits);
  const read = (name: string): string => readFileSync(join(place, name), "latin1");
  assert.equal(read("pids.max"), "10");
  assert.equal(read("memory.max"), String(64 * 1024 * 1024));
  assert.equal(read("memory.swap.max"), "0");
  assert.equal(read("cpu.max"), "50000 100000");
  assert.deepEqual(cgroups.list(), ["mat_x"]);
  writeFileSync(join(place, "memory.events"), "oom 3\noom_kill 2\n");
  assert.deepEqual(countMemoryEvents(place), { ownLimit: 3, kills: 2 });
});

test("before Linux 5.14 what is in a cgroup is ended one by one, when it can start nothing more", async (t) => {
  const child = spawn("sleep", ["1000"]);
  cleanUp(t, () => child.kill("SIGKILL"));
  const place = fakeMount(t, { "made-inside/cgroup.procs": `${child.pid}\n`, "cgroup.procs": "" });
  killMembers(place);
  await once(child, "exit");
  assert.equal(child.signalCode, "SIGKILL");
  assert.equal(readFileSync(join(place, "pids.max"), "latin1"), "0");
});

describe("in a cgroup of the kernel", { skip: noCgroups }, () => {
  test("an agent's service moves to a leaf, with all of its processes", async (t) => {
    const folder = join(realBase, `keelson-test-${randomUUID()}`);
    mkdirSync(folder);
    cleanUp(t, () => {
      for (const name of ["agent", "."]) rmdirSync(join(folder, name));
    });
    const source = `
      import { spawn } from "node:child_process";
      import { readFileSync, writeFileSync } from "node:fs";
      import { openCgroupBase, readCgroupFacts } from ${JSON.stringify(new URL("../src/limits/cgroup-base.ts", import.meta.url).href)};
      writeFileSync(process.argv[1] + "/cgroup.procs", String(process.pid));
      const child = spawn("sleep", ["1000"]);
      const { parentOf } = readCgroupFacts();
      const facts = { mount: process.argv[2], own: process.argv[1].slice(process.argv[2].length), hasTerminal: false, parentOf };
      const base = openCgroupBase(facts, []);
      const places = ["self", child.pid].map((pid) => /^0::(.*)$/m.exec(readFileSync("/proc/" + pid + "/cgroup", "latin1"))[1]);
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("exit", resolve));
      console.log(JSON.stringify({ base, places }));`;
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", source, folder, readCgroupFacts().mount as string],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
    const { base, places } = JSON.parse(printed) as { base: { folder: string }; places: string[] };
    assert.equal(base.folder, folder);
    const leaf = join(folder, "agent").slice(readCgroupFacts().mount?.length);
    assert.deepEqual(places, [leaf, leaf]);
  });

  test("what an agent left is found by its next process and ended at once", async (t) => {
    const home = randomUUID();
    const place = openRealCgroups(t, home).create("mat_left", {
      processes: 10,
      memoryMebibytes: null,
      cores: null,
    });
    const child = spawn("sh", ["-c", 'echo 0 > "$1/cgroup.procs"; echo in; exec sleep 1000', "sh", place]);
    await once(child.stdout, "data");
    const next = openWorkspaceCgroups({ folder: realBase, controllers: [] }, home);
    assert.deepEqual(next.list(), ["mat_left"]);
    await next.remove("mat_left");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL");
    assert.equal(existsSync(place), false);
    await next.remove("mat_left");
  });

  test("cgroups that a program made in its own go with it", async (t) => {
    const cgroups = openRealCgroups(t);
    const place = cgroups.create("mat_deep", { processes: 10, memoryMebibytes: null, cores: null });
    const script = 'mkdir -p "$1/a/b" "$1/c" && echo 0 > "$1/a/b/cgroup.procs" && echo in && exec sleep 1000';
    const child = spawn("sh", ["-c", script, "sh", place]);
    await once(child.stdout, "data");
    await cgroups.remove("mat_deep");
    assert.equal(existsSync(place), false);
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL");
  });
});

for (const { isolation, skip } of await tiersHere())
  test(
    `all that runs in the ${isolation} tier is in the workspace's cgroup before it begins, and ends with that`,
    { skip: noCgroups || skip },
    async (t) => {
      const cgroups = openRealCgroups(t);
      const { run, begin, readUntil, supervisor, materializationId } = await startTestSupervisor(
        t,
        isolation,
        { cgroups },
      );
      const procs = join(cgroups.folder, materializationId, "cgroup.procs");
      const pidsOf = (): number[] => readFileSync(procs, "latin1").split("\n").filter(Boolean).map(Number);
      assert.deepEqual(pidsOf(), []);
      const exec = await begin(["sh", "-c", "echo begun; exec sleep 1000"]);
      const pty = await begin(["sh", "-c", "echo begun; exec sleep 1000"], {
        kind: "pty",
        cols: 80,
        rows: 24,
      });
      for (const id of [exec, pty]) await readUntil(id, "begun");
      const pids = pidsOf();
      assert.ok(pids.length >= 2, String(pids));
      const told = await run(["sh", "-c", "id -u; grep NoNewPrivs /proc/self/status"]);
      assert.match(told.stdout.toString(), /^[1-9]\d*\nNoNewPrivs:\t1\n$/);
      await supervisor.stop();
      assert.deepEqual(pids.filter(isAlive), []);
      assert.deepEqual(cgroups.list(), []);
    },
  );

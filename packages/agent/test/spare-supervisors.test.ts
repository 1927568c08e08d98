import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { findMarked, listProcesses } from "../src/sandboxes/find-processes.ts";
import { readRecord } from "../src/supervisor/end-leftovers.ts";
import { rehearse } from "../src/supervisor/rehearse.ts";
import { SpareSupervisor } from "../src/supervisor/spare-supervisor.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { startGroupReaper } from "../src/task-hosts/group-reaper.ts";
import { hasEnded, isAlive } from "./support/alive.ts";
import { probeHere, startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";
import { until } from "../../server/test/support/until.ts";

const probe = { ...(await probeHere()), isolation: "process" as const };

function openSpares(t: TestContext): SpareSupervisor {
  const home = mkdtempSync(join(tmpdir(), "keelson-spare-"));
  const spares = new SpareSupervisor(home, probe, console);
  cleanUp(t, () => {
    spares.close();
    rmSync(home, { recursive: true, force: true });
  });
  return spares;
}

/** Supervisors that are children of a process, run from sources or bundled. */
const supervisorsOf = (parent: number): number[] =>
  listProcesses().flatMap(({ pid, ppid }) => {
    if (ppid !== parent) return [];
    const given = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
    return given.some((each) => /\/supervisor\/main\.[jt]s$/.test(each)) ? [pid] : [];
  });

/** The one that was booted since. While it replaces itself by the next program of its launch, its command is empty. */
async function bootedSince(before: readonly number[]): Promise<number> {
  let booted: number[] = [];
  await until("a spare supervisor to boot", 60_000, async () => {
    booted = supervisorsOf(process.pid).filter((pid) => !before.includes(pid));
    return booted.length > 0;
  });
  return booted[0] as number;
}

const pidOf = async ({ dataDir, materializationId }: { dataDir: string; materializationId: string }) =>
  (await readRecord(supervisorFolder(dataDir, materializationId)))?.pid;

test("a workspace is given the supervisor that was booted in advance, and no second workspace is", async (t) => {
  const before = supervisorsOf(process.pid);
  const spares = openSpares(t);
  const spare = await bootedSince(before);
  const first = await startTestSupervisor(t, "process", { spares, surroundings: { env: { ONLY: "first" } } });
  assert.equal(await pidOf(first), spare);
  const second = await startTestSupervisor(t, "process", { spares });
  assert.notEqual(await pidOf(second), spare);
  const [a, b] = [await first.run(["env"]), await second.run(["env"])];
  assert.match(a.stdout.toString(), /^ONLY=first$/m);
  assert.doesNotMatch(b.stdout.toString(), /ONLY/);
  assert.ok(b.stdout.toString().includes(`HOME=${second.root}`));
  // It holds nothing of the agent open: its log is the workspace's own by now.
  const filesOf = (pid: number | undefined): number => readdirSync(`/proc/${pid}/fd`).length;
  const booted = await pidOf(second);
  // Each sets up a sandbox for its next command, and has pipes open meanwhile.
  await until("both hold as many descriptors", 5_000, async () => filesOf(spare) === filesOf(booted));
});

test("a spare supervisor that was killed costs a workspace nothing but time", async (t) => {
  const before = supervisorsOf(process.pid);
  const spares = openSpares(t);
  const spare = await bootedSince(before);
  // Not waited for: whoever takes it meets one that is just ending.
  process.kill(spare, "SIGKILL");
  const { run } = await startTestSupervisor(t, "process", { spares });
  assert.equal((await run(["echo", "x"])).stdout.toString(), "x\n");
});

test("a workspace on certain cores is given a supervisor of its own", async (t) => {
  const before = supervisorsOf(process.pid);
  const spares = openSpares(t);
  const spare = await bootedSince(before);
  const pinned = await startTestSupervisor(t, "process", {
    spares,
    surroundings: { resources: { cpu: 1, memory: null } },
  });
  const { stdout } = await pinned.run(["grep", "Cpus_allowed_list", "/proc/self/status"]);
  assert.match(stdout.toString(), /\t\d+\n$/);
  assert.notEqual(await pidOf(pinned), spare);
});

test("a spare supervisor ends with its agent, however that ends", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "keelson-spare-"));
  cleanUp(t, () => rmSync(home, { recursive: true, force: true }));
  const module = new URL("../src/supervisor/spare-supervisor.ts", import.meta.url).href;
  const script = `
    const { SpareSupervisor } = await import(${JSON.stringify(module)});
    globalThis.spares = new SpareSupervisor(${JSON.stringify(home)}, ${JSON.stringify(probe)}, console);
    setInterval(() => undefined, 1000);
    console.log("there");`;
  const agent = spawn(
    process.execPath,
    ["--conditions=@keelson/source", "--input-type=module", "-e", script],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(agent.stdout, "data");
  const [spare] = supervisorsOf(agent.pid as number);
  assert.ok(spare !== undefined && isAlive(spare));
  agent.kill("SIGKILL");
  await hasEnded(spare);
});

for (const { isolation, skip } of await tiersHere())
  test(`a rehearsal in the ${isolation} tier runs to its end and leaves nothing`, { skip }, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "keelson-spare-"));
    cleanUp(t, () => rmSync(home, { recursive: true, force: true }));
    const reaper = startGroupReaper(null, (error) => assert.fail(error));
    cleanUp(t, () => reaper.close());
    const exit = await rehearse({ folder: join(home, "rehearsal"), isolation, means: probe.means }, reaper);
    assert.deepEqual([exit.outcome, exit.exitCode, exit.error], ["exited", 0, null]);
    assert.deepEqual(readdirSync(home), []);
    assert.deepEqual(findMarked({ owner: "rehearsal", uid: null }), []);
  });

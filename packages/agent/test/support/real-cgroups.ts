import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { TestContext } from "node:test";
import { enable, openCgroupBase, readCgroupFacts, type CgroupFacts } from "../../src/limits/cgroup-base.ts";
import { openWorkspaceCgroups, type WorkspaceCgroups } from "../../src/limits/workspace-cgroup.ts";
import { cleanUp } from "./clean-up.ts";

/** Where tests may make cgroups without moving anybody: root in the machine's own root, others beside the leaf that they run in. */
function findFacts(): CgroupFacts | null {
  if (process.platform !== "linux") return null;
  const facts = readCgroupFacts();
  const { mount } = facts;
  if (mount === null) return null;
  const isRoot = process.getuid?.() === 0 && !existsSync(join(mount, "cgroup.type"));
  if (!isRoot && basename(facts.own) !== "agent") return null;
  const chosen = isRoot ? { ...facts, own: "/" } : facts;
  try {
    const folder = join(openCgroupBase(chosen, []).folder, `keelson-test-${randomUUID()}`);
    mkdirSync(folder);
    rmdirSync(folder);
    return chosen;
  } catch {
    return null;
  }
}

const realFacts = findFacts();

export const noCgroups =
  realFacts === null
    ? "no cgroup v2 in which this test may make cgroups: run it as root, or with Delegate=yes and DelegateSubgroup=agent"
    : false;

const base = realFacts === null ? null : openCgroupBase(realFacts, []);
/** The folder in which tests make cgroups. */
export const realBase = base?.folder ?? "";
const controllers = base?.controllers ?? [];

const missing = (...names: string[]): string | false =>
  noCgroups ||
  (names.every((name) => controllers.includes(name))
    ? false
    : `cgroup v2 has no ${names.join(" and ")} here`);

export const noControllers = missing("memory", "pids");
export const noCpuController = missing("cpu");

/** The cgroups of an agent; what is in them ends with the test. */
export function openRealCgroups(t: TestContext, home: string = randomUUID()): WorkspaceCgroups {
  return openIn(t, realBase, home);
}

/** Those of an agent whose service has so little memory for all. */
export function openServiceCgroups(t: TestContext, memoryBytes: number): WorkspaceCgroups {
  const service = join(realBase, `keelson-test-${randomUUID()}`);
  mkdirSync(service);
  enable(service, controllers);
  writeFileSync(join(service, "memory.max"), String(memoryBytes));
  cleanUp(t, () => rmdirSync(service));
  return openIn(t, service, randomUUID());
}

function openIn(t: TestContext, folder: string, home: string): WorkspaceCgroups {
  const cgroups = openWorkspaceCgroups({ folder, controllers }, home);
  cleanUp(t, async () => {
    for (const id of cgroups.list()) await cgroups.remove(id);
    rmdirSync(cgroups.folder);
  });
  return cgroups;
}

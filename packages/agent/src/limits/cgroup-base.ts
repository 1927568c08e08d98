import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where the agent may make cgroups for its workspaces. */
export type CgroupBase = { folder: string; controllers: string[] };

/** What the kernel says of this process's place, and where it shows cgroups. */
export type CgroupFacts = {
  /** The mount point of cgroup v2 that shows the process's own cgroup; null when there is none. */
  mount: string | null;
  /** Relative to it. */
  own: string;
  hasTerminal: boolean;
  /** The parent of a process; null when it is gone. */
  parentOf(pid: number): number | null;
};

/** Without these a cgroup limits nothing that matters here. */
const NEEDED = ["memory", "pids"];
/** Without this one parts of a core cannot be had, and the rest can. */
const CPU = "cpu";
/** The cgroup that agents move to, because one with limits for its children has no processes of its own. */
const LEAF = "agent";
const MOVING_ROUNDS = 100;

/**
 * Finds the cgroup under which each workspace gets one, and makes it ready. That is the agent's own, when nobody else's
 * processes are in it: those of its service move to a leaf of it. Limits of the service go on to hold for all of it.
 *
 * @throws Error that says why there is none.
 */
export function openCgroupBase(facts: CgroupFacts, needed: readonly string[] = NEEDED): CgroupBase {
  const { mount, own } = facts;
  if (mount === null)
    throw new Error("cgroup v2 is not mounted, or its mount does not show the agent's own cgroup.");
  const isLeaf = basename(own) === LEAF;
  const folder = join(mount, isLeaf ? dirname(own) : own);
  const offered = listWords(join(folder, "cgroup.controllers"));
  const missing = needed.filter((name) => !offered.includes(name));
  if (missing.length > 0)
    throw new Error(`The cgroup ${folder} has no controller for ${missing.join(" and ")}.`);
  // Only the machine's own root has no type, and may have processes beside children.
  const isRoot = !existsSync(join(folder, "cgroup.type"));
  if (!isRoot && !isLeaf) moveToLeaf(folder, facts);
  const controllers = NEEDED.filter((name) => offered.includes(name));
  enable(folder, controllers);
  return {
    folder,
    controllers: offered.includes(CPU) && canEnable(folder, CPU) ? [...controllers, CPU] : controllers,
  };
}

function canEnable(folder: string, controller: string): boolean {
  try {
    enable(folder, [controller]);
    return true;
  } catch {
    // Programs with real-time priority, or whoever gave the cgroup, do not allow it.
    return false;
  }
}

/** @throws Error when processes of others are in the cgroup. */
function moveToLeaf(folder: string, { hasTerminal, parentOf }: CgroupFacts): void {
  const alone = `give the agent a cgroup of its own, such as a systemd unit with Delegate=yes`;
  if (hasTerminal)
    throw new Error(`The agent runs in a terminal, whose cgroup ${folder} is not its own; ${alone}.`);
  const pids = listPids(folder);
  const top = topOf(process.pid, pids, parentOf);
  if (pids.some((pid) => topOf(pid, pids, parentOf) !== top))
    throw new Error(`Other processes than the agent's service are in the cgroup ${folder}; ${alone}.`);
  const leaf = join(folder, LEAF);
  makeCgroup(leaf);
  // What starts meanwhile starts beside its parent, so a later look finds it.
  for (let rounds = 0; listPids(folder).length > 0; rounds += 1) {
    if (rounds > MOVING_ROUNDS) throw new Error(`Processes of the cgroup ${folder} cannot be moved.`);
    for (const pid of listPids(folder)) move(pid, leaf);
  }
}

const listPids = (folder: string): number[] => listWords(join(folder, "cgroup.procs")).map(Number);

function topOf(pid: number, within: readonly number[], parentOf: CgroupFacts["parentOf"]): number {
  const parent = parentOf(pid);
  return parent === null || parent === pid || !within.includes(parent)
    ? pid
    : topOf(parent, within, parentOf);
}

function move(pid: number, folder: string): void {
  try {
    writeFileSync(join(folder, "cgroup.procs"), String(pid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Makes a cgroup that is not there yet. A recursive `mkdir` would not say that the file system is read-only. */
export function makeCgroup(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Lets the children of a cgroup have limits. */
export function enable(folder: string, controllers: readonly string[]): void {
  const present = listWords(join(folder, "cgroup.subtree_control"));
  for (const name of controllers)
    if (!present.includes(name)) writeFileSync(join(folder, "cgroup.subtree_control"), `+${name}`);
}

const listWords = (path: string): string[] =>
  readFileSync(path, "latin1")
    .split(/\s+/)
    .filter((word) => word !== "");

/**
 * Where a process's own cgroup is seen. A mount may show a part of the tree, and that of a machine shows to a process with a
 * cgroup namespace where its mount begins only as so many folders above: `/../..`.
 */
export function locateCgroup(mountinfo: string, cgroup: string): Pick<CgroupFacts, "mount" | "own"> {
  const own = /^0::(.*)$/m.exec(cgroup)?.[1] ?? "/";
  const mounts = mountinfo
    .split("\n")
    .filter((line) => / - cgroup2 /.test(line))
    .map((line) => line.split(" ") as [string, string, string, string, string]);
  // The last of those at one place is seen.
  for (const [, , , top, mount] of mounts.toReversed()) {
    const above = top === "/" ? "" : top;
    const isShown = own === above || own.startsWith(`${above}/`);
    const inside = own.slice(above.length);
    if (isShown && !inside.split("/").includes("..")) return { mount, own: inside === "" ? "/" : inside };
  }
  return { mount: null, own };
}

/** @throws Error on a machine without /proc. */
export function readCgroupFacts(): CgroupFacts {
  const read = (name: string): string => readFileSync(`/proc/self/${name}`, "latin1");
  const statOf = (pid: number | "self"): string[] => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  };
  return {
    ...locateCgroup(read("mountinfo"), read("cgroup")),
    hasTerminal: Number(statOf("self")[4]) !== 0,
    parentOf: (pid) => {
      try {
        return Number(statOf(pid)[1]);
      } catch {
        return null;
      }
    },
  };
}

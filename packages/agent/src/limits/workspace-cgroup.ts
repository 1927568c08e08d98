import { existsSync, readFileSync, rmdirSync, readdirSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { pause } from "../pause.ts";
import { sendSignal } from "../sandboxes/find-processes.ts";
import { enable, makeCgroup, type CgroupBase } from "./cgroup-base.ts";

/** What a workspace's cgroup allows; null is no limit. */
export type CgroupLimits = { processes: number; memoryMebibytes: number | null; cores: number | null };

const CPU_PERIOD_US = 100_000;
const LOOK_MS = 5;
const LONGEST_END_MS = 10_000;

/** The cgroups of one agent's workspaces, which its next process finds again by the agent's folder. */
export type WorkspaceCgroups = {
  folder: string;
  /** A cgroup with limits, empty. */
  create(materializationId: string, limits: CgroupLimits): string;
  /** Ends what is in the cgroup and removes it; nothing when there is none. */
  remove(materializationId: string): Promise<void>;
  /** Materializations that have one. */
  list(): string[];
};

export function openWorkspaceCgroups({ folder, controllers }: CgroupBase, home: string): WorkspaceCgroups {
  const digest = createHash("sha256").update(home).digest("hex").slice(0, 16);
  const parent = join(folder, `workspaces-${digest}`);
  makeCgroup(parent);
  enable(parent, controllers);
  const placeOf = (materializationId: string): string => join(parent, materializationId);
  return {
    folder: parent,
    create(materializationId, limits) {
      const place = placeOf(materializationId);
      makeCgroup(place);
      for (const [name, value] of Object.entries(limitFiles(limits, controllers)))
        writeFileSync(join(place, name), value);
      // Where the kernel counts no swap there is no such file.
      if (limits.memoryMebibytes !== null) tryWrite(join(place, "memory.swap.max"), "0");
      return place;
    },
    remove: (materializationId) => removeCgroup(placeOf(materializationId)),
    list: () => readdirSync(parent).filter((name) => name.startsWith("mat_")),
  };
}

function limitFiles(
  { processes, memoryMebibytes, cores }: CgroupLimits,
  controllers: readonly string[],
): Record<string, string> {
  const has = (name: string): boolean => controllers.includes(name);
  const quota = cores === null ? "max" : String(Math.round(cores * CPU_PERIOD_US));
  return {
    ...(has("pids") ? { "pids.max": String(processes) } : {}),
    ...(has("memory")
      ? { "memory.max": memoryMebibytes === null ? "max" : String(memoryMebibytes * 1024 * 1024) }
      : {}),
    ...(has("cpu") ? { "cpu.max": `${quota} ${CPU_PERIOD_US}` } : {}),
  };
}

function tryWrite(path: string, value: string): void {
  try {
    writeFileSync(path, value);
  } catch (error) {
    if (!["ENOENT", "EACCES"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}

/**
 * What the kernel tells of memory that ran out: how often the cgroup was at its own limit, and how many of its processes were
 * ended, for that limit or for one above it, which is that of the service or the machine.
 */
export function countMemoryEvents(place: string): { ownLimit: number; kills: number } {
  const events = readFact(place, "memory.events");
  const count = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(events)?.[1] ?? 0);
  return { ownLimit: count("oom"), kills: count("oom_kill") };
}

/** Processes and threads in the cgroup, as its limit counts them. */
export const countProcesses = (place: string): number => Number(readFact(place, "pids.current"));

/** Empty when the cgroup or the file is gone. */
function readFact(place: string, name: string): string {
  try {
    return readFileSync(join(place, name), "latin1");
  } catch {
    return "";
  }
}

/** Ends what is in the cgroup, and removes it and those that programs made in it when they are empty. */
async function removeCgroup(place: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOOK_MS) {
    try {
      killMembers(place);
      removeTree(place);
      return;
    } catch (error) {
      if (!existsSync(place)) return;
      const { code } = error as NodeJS.ErrnoException;
      // What was in it is not gone yet, or removed a cgroup of its own just now.
      if ((code !== "EBUSY" && code !== "ENOENT") || waitedMs > LONGEST_END_MS) throw error;
      await pause(LOOK_MS);
    }
  }
}

/** All at once, whatever forks meanwhile. Before Linux 5.14 one after the other, when none can fork any more. */
export function killMembers(place: string): void {
  if (existsSync(join(place, "cgroup.kill"))) return tryWrite(join(place, "cgroup.kill"), "1");
  tryWrite(join(place, "pids.max"), "0");
  for (const folder of [...listChildren(place), place])
    for (const pid of readFact(folder, "cgroup.procs").split("\n").filter(Boolean))
      sendSignal(Number(pid), "SIGKILL");
}

function removeTree(place: string): void {
  for (const child of listChildren(place)) rmdirSync(child);
  rmdirSync(place);
}

/** Those below a cgroup, the deepest first. */
const listChildren = (place: string): string[] =>
  readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(place, name))
    .flatMap((child) => [...listChildren(child), child]);

/** Runs what follows in a cgroup: the shell moves itself, so that nothing of the program has run outside. */
export const joinArguments = (place: string | null): string[] =>
  place === null
    ? []
    : ["/bin/sh", "-c", 'echo 0 > "$1" && shift && exec "$@"', "sh", join(place, "cgroup.procs")];

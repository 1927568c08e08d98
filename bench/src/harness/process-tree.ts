import { readFileSync, readdirSync } from "node:fs";

/** What Linux knows of a process and its descendants: the server with its PostgreSQL, say. */

/** Clock ticks are 10 ms wherever Linux is seen from user space. */
const TICK_MS = 10;

type Stat = { parent: number; cpuMs: number };

/** The process and all its descendants. */
export function listTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat !== null) parents.set(Number(name), stat.parent);
  }
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  return tree;
}

/** Memory of the tree in MiB, a shared page counted once over all that share it (PSS). */
export function readMemoryMib(root: number): number {
  let kib = 0;
  for (const pid of listTree(root))
    kib += Number(/^Pss: +([0-9]+) kB$/m.exec(readProc(pid, "smaps_rollup") ?? "")?.[1] ?? 0);
  return kib / 1024;
}

/** Processor time that the tree has used, by process, with that of children that ended. */
export function readCpuMs(root: number): Map<number, number> {
  return new Map(listTree(root).map((pid) => [pid, readStat(pid)?.cpuMs ?? 0]));
}

/**
 * Processor time between two readings of a tree. All of the first is taken off all of the second: a process
 * that ended in between has left what it used in its life to its parent, most of it from before the first.
 */
export function cpuBetweenMs(before: Map<number, number>, after: Map<number, number>): number {
  return sumOf(after) - sumOf(before);
}

const sumOf = (reading: Map<number, number>): number =>
  [...reading.values()].reduce((sum, ms) => sum + ms, 0);

function readStat(pid: number): Stat | null {
  const text = readProc(pid, "stat");
  if (text === null) return null;
  // The name in parentheses may contain spaces; what follows it begins with the state, the third field.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const ticks = (fields[11] ?? 0) + (fields[12] ?? 0) + (fields[13] ?? 0) + (fields[14] ?? 0);
  return { parent: fields[1] ?? 0, cpuMs: ticks * TICK_MS };
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null; // It ended while we looked.
    throw error;
  }
}

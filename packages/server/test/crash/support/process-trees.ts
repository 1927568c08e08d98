// The processes of a site, to be stopped and to go on together, as a lid that is closed does it.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import type { Site } from "./site.ts";

/** A process and all that descend from it. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of pids()) {
    const parent = parentOf(pid);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** PostgreSQL's processes, which all work in the folder of its cluster. */
export const postgresOf = ({ dir }: Pick<Site, "dir">): number[] =>
  pids().filter((pid) => cwdOf(pid).startsWith(path.join(dir, "postgres")));

/** Of those that have ended meanwhile nothing is asked. */
export function signalAll(targets: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of targets) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

const pids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Null of one that has just ended. */
function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

function cwdOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

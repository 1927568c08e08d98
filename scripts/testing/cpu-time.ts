// The time on a processor of processes that have ended, as the kernel adds it up. Source: proc(5), "stat".

import { readFileSync } from "node:fs";

const TICKS_A_SECOND = 100;
/** Counted after the name, which may have spaces in it. */
const [CHILDREN_USER, CHILDREN_SYSTEM] = [13, 14] as const;

/** Seconds of all children of this process that have ended, and of theirs; null where the kernel does not say. */
export function childrenCpuSeconds(): number | null {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) / TICKS_A_SECOND;
  } catch {
    return null;
  }
}

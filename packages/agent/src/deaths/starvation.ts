import { readFileSync } from "node:fs";

/** A process that waited for a core for half of its time was slow because of the machine. */
const STARVED_SHARE = 0.5;

/**
 * Whether the machine gave a process too little time to run. Linux counts for each process how long it was ready to run and
 * had no core; elsewhere nothing is known, and the answer is false.
 */
export function isStarved(pid: number | undefined, elapsedMs: number): boolean {
  if (pid === undefined) return false;
  try {
    return isStarvedBy(readFileSync(`/proc/${pid}/schedstat`, "latin1"), elapsedMs);
  } catch {
    // It has just ended, or the system has no such file.
    return false;
  }
}

/** @param schedstat time on a core and time waiting for one, in nanoseconds, and how often. */
export function isStarvedBy(schedstat: string, elapsedMs: number): boolean {
  const waitedNs = Number(schedstat.trim().split(" ")[1]);
  return Number.isFinite(waitedNs) && waitedNs / 1e6 >= elapsedMs * STARVED_SHARE;
}

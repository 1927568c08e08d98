// Bounds a process by the time that the machine let it run, not by the clock: a time-out on a busy machine says nothing of
// the process.

import { readFileSync } from "node:fs";

/** How often it is looked at. A look that comes late counts as one: the machine stood still, and the process with it. */
const EVERY_MS = 500;

/**
 * How long a process was ready to run and had no core, in milliseconds since it began. Linux counts this for each process;
 * null elsewhere, and for a process that has ended.
 */
export function readWaitedMs(pid: number): number | null {
  try {
    return parseWaitedMs(readFileSync(`/proc/${pid}/schedstat`, "latin1"));
  } catch {
    return null;
  }
}

/** @param schedstat time on a core and time waiting for one, in nanoseconds, and how often. Source: proc_pid_schedstat(5). */
export function parseWaitedMs(schedstat: string): number | null {
  const waitedNs = Number(schedstat.trim().split(" ")[1]);
  return Number.isFinite(waitedNs) ? waitedNs / 1e6 : null;
}

/** Of the time between two looks, what the process had: not what it waited for a core, and not what came late. */
export const servedBetween = (
  before: { atMs: number; waitedMs: number | null },
  now: { atMs: number; waitedMs: number | null },
): number => {
  const elapsedMs = Math.min(EVERY_MS, now.atMs - before.atMs);
  const waitedMs = Math.max(0, (now.waitedMs ?? 0) - (before.waitedMs ?? 0));
  return Math.max(0, elapsedMs - waitedMs);
};

export interface ServedTimeLimit {
  /** Of the time in which the process could run. */
  readonly boundMs: number;
  /** On the clock: a machine that lets the process run so little has not to be waited for. */
  readonly longestMs: number;
  /** The process; undefined while it does not run yet, which counts as no time. */
  pid(): number | undefined;
  /** @param isStarved it had less than the bound: nothing is known of it */
  onOver(isStarved: boolean): void;
}

/** Watches a process until it had its bound, or the clock ran out. @returns ends the watch */
export function limitServedTime({ boundMs, longestMs, pid, onOver }: ServedTimeLimit): () => void {
  const look = (): { atMs: number; waitedMs: number | null; pid: number | undefined } => {
    const seen = pid();
    return { atMs: performance.now(), waitedMs: seen === undefined ? null : readWaitedMs(seen), pid: seen };
  };
  let before = look();
  const beganAt = before.atMs;
  let servedMs = 0;
  const timer = setInterval(() => {
    const now = look();
    if (now.pid !== undefined && now.pid === before.pid) servedMs += servedBetween(before, now);
    before = now;
    if (servedMs < boundMs && now.atMs - beganAt < longestMs) return;
    clearInterval(timer);
    onOver(servedMs < boundMs);
  }, EVERY_MS);
  return () => clearInterval(timer);
}

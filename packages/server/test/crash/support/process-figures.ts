// What a process has used and holds, as Linux tells it.

import { readdirSync, readFileSync } from "node:fs";

const TICKS_A_SECOND = 100;

export type ProcessFigures = { cpuMs: number; memoryMib: number; descriptors: number };

/** `cpuMs`: milliseconds of processor since its start, without its children. */
export function processFigures(pid: number): ProcessFigures {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return {
    cpuMs: (ticks * 1_000) / TICKS_A_SECOND,
    memoryMib: Math.round(Number(kib) / 1_024),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}

/** Milliseconds since the start of the machine, of all its processors. */
export function machineFigures(): { busyMs: number; allMs: number } {
  const [, ...ticks] = (readFileSync("/proc/stat", "latin1").split("\n")[0] ?? "").trim().split(/\s+/);
  // User, nice, system, idle, waiting for a disk, interrupts, soft interrupts, taken by the host.
  const times = ticks.slice(0, 8).map((tick) => (Number(tick) * 1_000) / TICKS_A_SECOND);
  const allMs = times.reduce((sum, time) => sum + time, 0);
  return { busyMs: allMs - (times[3] as number) - (times[4] as number), allMs };
}

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

import { readFile } from "node:fs/promises";

const INTERVAL_MS = 250;

/** What Node itself needs besides the heap that `memory_mb` bounds: code, young generation, buffers, stacks. */
export const RUNTIME_OVERHEAD_MB = 128;

/**
 * Calls `onExcess` once when the resident memory of a process passes `limitMb`. Returns the stop function. Where
 * there is no /proc only the heap limit holds.
 */
export function watchMemory(pid: number, limitMb: number, onExcess: () => void): () => void {
  let reading = false;
  const check = async () => {
    if (reading) return;
    reading = true;
    const residentKb = await readResidentKb(pid);
    reading = false;
    if (residentKb === null || residentKb <= limitMb * 1024) return;
    clearInterval(timer);
    onExcess();
  };
  const timer = setInterval(() => void check(), INTERVAL_MS);
  return () => clearInterval(timer);
}

async function readResidentKb(pid: number): Promise<number | null> {
  try {
    const match = /^VmRSS:\s+([0-9]+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "latin1"));
    return match === null ? null : Number(match[1]);
  } catch {
    // The process has just ended, or the system has no /proc: neither is an excess.
    return null;
  }
}

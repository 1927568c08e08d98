// How much of the machine nobody uses, whoever uses the rest.

import { availableParallelism, cpus } from "node:os";
import { readCpuTimes } from "../../packages/agent/src/task-hosts/spare-cpu.ts";

/**
 * @returns tells how many cores were idle since it was asked last; null where the machine has cores that this process may not
 * use, of which it cannot know
 */
export function idleCoresMeter(): () => number | null {
  const cores = availableParallelism();
  let last = readCpuTimes();
  return () => {
    const now = readCpuTimes();
    const [idle, total] = [now.idle - last.idle, now.total - last.total];
    last = now;
    return cpus().length !== cores || total === 0 ? null : (idle / total) * cores;
  };
}

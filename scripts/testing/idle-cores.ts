// How much of the machine nobody uses, whoever uses the rest.

import { availableParallelism, cpus } from "node:os";

interface Times {
  readonly idleMs: number;
  readonly allMs: number;
}

function readTimes(): Times {
  let [idleMs, allMs] = [0, 0];
  for (const { times } of cpus()) {
    idleMs += times.idle;
    allMs += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idleMs, allMs };
}

/**
 * @returns tells how many cores were idle since it was asked last; null where the machine has cores that this process may not
 * use, of which it cannot know
 */
export function idleCoresMeter(): () => number | null {
  const cores = availableParallelism();
  let last = readTimes();
  return () => {
    const now = readTimes();
    const [idleMs, allMs] = [now.idleMs - last.idleMs, now.allMs - last.allMs];
    last = now;
    return cpus().length !== cores || allMs === 0 ? null : (idleMs / allMs) * cores;
  };
}

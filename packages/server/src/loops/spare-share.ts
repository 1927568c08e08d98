import { cpus } from "node:os";

/** Below this part of idle time, the machine has nothing to spare. */
const BUSY_BELOW = 0.2;

/** Milliseconds of all processors since the machine began. */
function readTimes(): { idle: number; all: number } {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, all };
}

/**
 * The share of the time for work that nobody waits for: `spare` while the machine had idle time since the last call, `busy` while it
 * had none. A machine that does not tell its times counts as one that has.
 */
export function createSpareShare(
  { spare, busy }: { spare: number; busy: number },
  read: () => { idle: number; all: number } = readTimes,
): () => number {
  let last = read();
  return () => {
    const now = read();
    const all = now.all - last.all;
    const isBusy = all > 0 && (now.idle - last.idle) / all < BUSY_BELOW;
    last = now;
    return isBusy ? busy : spare;
  };
}

import { cpus } from "node:os";

/** Below this part of idle time, the machine has nothing to spare. */
const BUSY_BELOW = 0.4;

type Times = { idle: number; all: number };

/** Milliseconds of all processors since the machine began. */
function readTimes(): Times {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, all };
}

/** `spare`: the machine is idle enough; `busy`: it is not, but this has waited for as long as it may; `none`: wait. */
export type Turn = "spare" | "busy" | "none";

/**
 * Whether work that nobody waits for may begin: while the machine had idle time since the last call, or once so long has passed.
 * A machine that does not tell its times counts as one that has.
 */
export function createSpareTurns(
  longestMs: number,
  read: () => Times = readTimes,
  monotonic: () => number = () => performance.now(),
): () => Turn {
  let last = read();
  let begunAt = monotonic();
  return () => {
    const now = read();
    const all = now.all - last.all;
    const isBusy = all > 0 && (now.idle - last.idle) / all < BUSY_BELOW;
    last = now;
    if (isBusy && monotonic() - begunAt < longestMs) return "none";
    begunAt = monotonic();
    return isBusy ? "busy" : "spare";
  };
}

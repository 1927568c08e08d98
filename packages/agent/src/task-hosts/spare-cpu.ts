import { cpus } from "node:os";

/** Time of all cores since they started, in milliseconds. */
export type CpuTimes = { idle: number; total: number };

/** How much is looked at together: short enough to see a burst end, long enough for ticks of 10 ms. */
const WINDOW_MS = 100;
/** Of all cores; below it a new process only takes time away from those that run. */
const SPARE_SHARE = 0.2;

/** Says whether the machine had time to spare lately. Until it has seen one window it says that it had. */
export function createSpareCpu(
  monotonic: () => number,
  readTimes: () => CpuTimes = readCpuTimes,
): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let last: CpuTimes | null = null;
  let spare = true;
  return () => {
    const now = monotonic();
    if (now - since < WINDOW_MS) return spare;
    const times = readTimes();
    // What was seen long ago says nothing of now.
    const recent = last !== null && now - since < 10 * WINDOW_MS && times.total > last.total;
    if (recent && last !== null) spare = (times.idle - last.idle) / (times.total - last.total) >= SPARE_SHARE;
    else spare = true;
    [since, last] = [now, times];
    return spare;
  };
}

export function readCpuTimes(): CpuTimes {
  let [idle, total] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, total };
}

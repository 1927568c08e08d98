import { WAIT_OVER, type Wakes } from "./wakes.ts";

/** A waiter looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/** How long to wait, and who may end it before. */
export type Patience<Value> = {
  /** From the call, which may follow from what was read. The time that passes counts, whatever a clock says meanwhile. */
  waitMs: number | ((value: Value) => number);
  signal: AbortSignal;
};

/** Reads again at each wake of the key, until the value is as wanted, the time is over or the signal ends the wait. */
export async function waitUntil<Value>(
  { wakes }: { wakes: Wakes },
  key: string,
  read: () => Promise<Value>,
  isDone: (value: Value) => boolean,
  { waitMs, signal }: Patience<Value>,
): Promise<Value> {
  const begun = performance.now();
  for (;;) {
    const waitedMs = performance.now() - begun;
    const leftMs = typeof waitMs === "number" ? waitMs - waitedMs : SAFETY_READ_MS;
    const waiting = new AbortController();
    // Registered before the read: what changes during it wakes this again.
    const woken = wakes.wait(
      key,
      Math.max(0, Math.min(leftMs, SAFETY_READ_MS)),
      AbortSignal.any([signal, waiting.signal]),
    );
    try {
      const value = await read();
      const longestMs = typeof waitMs === "number" ? waitMs : waitMs(value);
      if (isDone(value) || signal.aborted || waitedMs >= longestMs) return value;
      await woken;
    } finally {
      waiting.abort(WAIT_OVER);
    }
  }
}

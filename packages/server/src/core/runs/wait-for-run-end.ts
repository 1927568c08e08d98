import { isTerminalRunStatus } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Queryable } from "../../db/queryable.ts";
import { wakeKeys, type Wakes } from "../feeds/wakes.ts";
import { findRunStatus } from "./run-reads.ts";

/** A waiter looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/** Waits until the run has ended, or not longer than the time given. @returns whether it has ended. */
export async function waitForRunEnd(
  { db, wakes, clock }: { db: Queryable; wakes: Wakes; clock: Clock },
  environmentId: string,
  runId: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = clock() + timeoutMs;
  for (;;) {
    const left = until - clock();
    const waiting = new AbortController();
    // Registered before the read: an end that comes during it is not missed.
    const woken = wakes.wait(
      wakeKeys.run(runId),
      Math.max(0, Math.min(left, SAFETY_READ_MS)),
      AbortSignal.any([signal, waiting.signal]),
    );
    try {
      const status = await findRunStatus(db, environmentId, runId);
      if (status === null || isTerminalRunStatus(status)) return true;
      if (left <= 0 || signal.aborted) return false;
      await woken;
    } finally {
      waiting.abort();
    }
  }
}

import type { Clock } from "../clock.ts";
import type { DeploymentCache } from "../core/entrypoints/deployment-cache.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import type { RunQuota } from "../core/quotas/run-quota.ts";
import { fireSchedules } from "../core/schedules/fire-schedules.ts";
import { findNextRunAt } from "../core/schedules/schedule-reads.ts";
import type { Database } from "../db/pool.ts";
import type { NewUuid } from "../uuid.ts";
import type { LoopWork } from "./loop.ts";

export type ScheduleLoopContext = {
  db: Database;
  clock: Clock;
  wakes: Wakes;
  deployments: DeploymentCache;
  runQuota: RunQuota;
  newUuid: NewUuid;
};

/** A schedule that is made or changed meanwhile is seen this much later at most. */
const LOOK_INTERVAL_MS = 1_000;
/** What is due is in another server's hands: time for its transaction to end. */
const HELD_PAUSE_MS = 50;

/** Starts the runs of due schedules. Every replica runs it, asleep until the next slot of all. */
export function scheduleLoops(context: ScheduleLoopContext): LoopWork[] {
  const { db, clock, wakes } = context;
  const run = async (): Promise<number> => {
    for (;;) {
      const nextRunAt = await findNextRunAt(db);
      if (nextRunAt === null) return LOOK_INTERVAL_MS;
      const dueInMs = nextRunAt - clock();
      if (dueInMs > 0) return Math.min(dueInMs, LOOK_INTERVAL_MS);
      const { taken, workerGroupIds } = await db.transaction((tx) => fireSchedules(context, tx, clock()));
      for (const workerGroupId of workerGroupIds) wakes.wake(wakeKeys.work(workerGroupId));
      if (taken === 0) return HELD_PAUSE_MS;
    }
  };
  return [{ name: "fire-schedules", intervalMs: LOOK_INTERVAL_MS, run }];
}

import type { Clock } from "../clock.ts";
import type { DeploymentCache } from "../core/entrypoints/deployment-cache.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import type { RunQuota } from "../core/quotas/run-quota.ts";
import { fireSchedules } from "../core/schedules/fire-schedules.ts";
import { findNextRunAt, hasSchedulesDueBy } from "../core/schedules/schedule-reads.ts";
import type { Database } from "../db/pool.ts";
import type { Sql } from "../db/sql.ts";
import type { NewUuid } from "../uuid.ts";
import { LOOK_INTERVAL_MS, SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type ScheduleLoopContext = {
  db: Database;
  clock: Clock;
  wakes: Wakes;
  deployments: DeploymentCache;
  runQuota: RunQuota;
  newUuid: NewUuid;
};

/** What is due is in another server's hands: time for its transaction to end. */
const HELD_PAUSE_MS = 50;

/** Starts the runs of due schedules. Every replica runs it, asleep until the next slot of all. */
export function scheduleLoops(context: ScheduleLoopContext): LoopWork[] {
  const { db, clock, wakes } = context;
  const run = async (): Promise<number> => {
    for (;;) {
      const nextRunAt = await findNextRunAt(db);
      if (nextRunAt === null) return SAFEGUARD_MS;
      const dueInMs = nextRunAt - clock();
      if (dueInMs > 0) return dueInMs;
      const { taken, workerGroupIds } = await db.transaction((tx) => fireSchedules(context, tx, clock()));
      for (const workerGroupId of workerGroupIds) wakes.wake(wakeKeys.work(workerGroupId));
      if (taken === 0) return HELD_PAUSE_MS;
    }
  };
  // Those that come due before the next look, so that the loop sleeps to the millisecond.
  const due = (now: number): Sql => hasSchedulesDueBy(now + 2 * LOOK_INTERVAL_MS);
  return [{ name: "fire-schedules", intervalMs: SAFEGUARD_MS, due, run }];
}

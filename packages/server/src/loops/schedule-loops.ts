import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { fireDueSchedules, type FireContext } from "../core/schedules/fire-schedules.ts";
import { findNextRunAt, hasSchedulesDueBy } from "../core/schedules/schedule-reads.ts";
import type { Sql } from "../db/sql.ts";
import { LOOK_INTERVAL_MS, SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type ScheduleLoopContext = ItemContext & FireContext;

/** What is due is in another server's hands: time for its transaction to end. */
const HELD_PAUSE_MS = 50;

/** Starts the runs of due schedules. Every replica runs it, asleep until the next slot of all. */
export function scheduleLoops(context: ScheduleLoopContext): LoopWork[] {
  const { db, clock } = context;
  const run = async (): Promise<number> => {
    for (;;) {
      const now = clock();
      const nextRunAt = await findNextRunAt(db, now);
      if (nextRunAt === null) return SAFEGUARD_MS;
      if (nextRunAt > now) return nextRunAt - now;
      if ((await fireDueSchedules(context)) === 0) return HELD_PAUSE_MS;
    }
  };
  // Those that come due before the next look, so that the loop sleeps to the millisecond.
  const due = (now: number): Sql => hasSchedulesDueBy(now + 2 * LOOK_INTERVAL_MS);
  return [{ name: "fire-schedules", intervalMs: SAFEGUARD_MS, due, run }];
}

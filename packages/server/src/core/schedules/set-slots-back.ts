import { CLOCK_LEAD_MS } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { nextRunOf } from "./next-run.ts";
import { lockAheadSchedules } from "./schedule-reads.ts";
import { setSlotsBack } from "./schedule-writes.ts";

const AT_ONCE = 100;

/**
 * Brings schedules back that a clock which was ahead has taken into the future: they would be silent until then. Runs that
 * were started for slots which have not come yet stay, and the slots come due again.
 */
export async function setSchedulesBack(db: Database, now: number): Promise<void> {
  for (let found = AT_ONCE; found === AT_ONCE;) {
    found = await db.transaction(async (tx) => {
      const schedules = await lockAheadSchedules(tx, now + CLOCK_LEAD_MS, AT_ONCE);
      const back = schedules.map(({ environmentId, id, cron, timezone }) => ({
        ...{ environmentId, id },
        nextRunAt: nextRunOf(cron, timezone)(now),
      }));
      if (back.length > 0) await setSlotsBack(tx, back, now);
      return back.length;
    });
  }
}

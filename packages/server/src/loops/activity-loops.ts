import { ACTIVITY_MINUTES_MAX } from "@keelson/contract";
import type { Clock } from "../clock.ts";
import { MINUTE_MS, minuteOf } from "../core/runs/run-activity.ts";
import { sampleRunCounts, takeSampleLock } from "../core/runs/run-activity-writes.ts";
import type { Database } from "../db/pool.ts";
import { BACKGROUND_LIMIT_MS } from "../db/session-settings.ts";
import type { LoopWork } from "./loop.ts";

const LOOK_INTERVAL_MS = 1_000;

/**
 * Samples the counts of runs when a minute begins. Every replica runs it, one at a time does it. A minute that had begun
 * before the server is left alone: its beginning is not known any more, and the next sample tells the same.
 */
export function activityLoops({ db, clock }: { db: Database; clock: Clock }): LoopWork[] {
  let sampled = minuteOf(clock());
  const run = async (): Promise<number> => {
    const minute = minuteOf(clock());
    if (minute > sampled) {
      const keptSince = minute - (ACTIVITY_MINUTES_MAX + 1) * MINUTE_MS;
      // A crash that loses one only makes a minute's edge less exact.
      await db.transaction(
        async (tx) => {
          if (await takeSampleLock(tx)) await sampleRunCounts(tx, minute, keptSince);
        },
        { durability: "relaxed", limitMs: BACKGROUND_LIMIT_MS },
      );
      sampled = minute;
    }
    return Math.max(0, minute + MINUTE_MS - clock());
  };
  return [{ name: "sample-run-counts", intervalMs: LOOK_INTERVAL_MS, run }];
}

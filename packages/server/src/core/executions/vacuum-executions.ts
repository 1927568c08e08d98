import type { Database } from "../../db/pool.ts";
import { takeNewShards } from "../count-shards.ts";
import { moveCountsBack } from "../runs/move-counts.ts";
import type { ReadyFronts } from "./ready-fronts.ts";
import { findTupleCounts, vacuumLiveRows } from "./vacuum-writes.ts";

export type VacuumContext = {
  db: Pick<Database, "query" | "maintain">;
  readyFronts: Pick<ReadyFronts, "hold">;
};

const MIN_DEAD_ROWS = 5_000;
const DEAD_SHARE = 0.1;
const MIN_PAUSE_MS = 3_000;
const MAX_PAUSE_MS = 60_000;
const MOVE_COUNTS_MS = 20_000;

/**
 * Vacuums the live rows once many have died. Each claim begins at the front of the index of ready rows and steps over
 * the entries of all that were claimed since the last vacuum; autovacuum looks in four times a minute at best, in which
 * a busy queue kills a hundred thousand. Another replica's vacuum, or autovacuum's, is not waited for.
 *
 * While a transaction holds an old snapshot, a vacuum reads the table and removes nothing. It is then tried less and less
 * often, claims begin at known fronts, and counts of runs go to new rows from time to time.
 *
 * @returns `run` is one round, and gives whether it vacuumed.
 */
export function createVacuum({ db, readyFronts }: VacuumContext): { run(): Promise<boolean> } {
  let pauseMs = 0;
  let vacuumAt = 0;
  let moveAt = 0;
  // A server may have ended while counts were elsewhere.
  let areCountsBack = false;

  const release = async (): Promise<void> => {
    pauseMs = vacuumAt = moveAt = 0;
    readyFronts.hold(false);
    if (!areCountsBack) await moveCountsBack(db);
    areCountsBack = true;
  };
  const hold = (): void => {
    readyFronts.hold(true);
    areCountsBack = false;
    if (performance.now() < moveAt) return;
    takeNewShards();
    moveAt = performance.now() + MOVE_COUNTS_MS;
  };
  return {
    run: async () => {
      if (!isWorthIt(await findTupleCounts(db))) {
        await release();
        return false;
      }
      if (performance.now() < vacuumAt) {
        hold();
        return false;
      }
      await vacuumLiveRows(db);
      if (!isWorthIt(await findTupleCounts(db))) {
        await release();
        return true;
      }
      pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, pauseMs * 2));
      vacuumAt = performance.now() + pauseMs;
      hold();
      return true;
    },
  };
}

const isWorthIt = ({ live, dead }: { live: number; dead: number }): boolean =>
  dead >= Math.max(MIN_DEAD_ROWS, live * DEAD_SHARE);

import type { Database } from "../../db/pool.ts";
import { findTupleCounts, vacuumLiveRows } from "./vacuum-writes.ts";

const MIN_DEAD_ROWS = 5_000;
const DEAD_SHARE = 0.1;

/**
 * Vacuums the live rows once many have died. Each claim begins at the front of the index of ready rows and steps over
 * the entries of all that were claimed since the last vacuum; autovacuum looks in four times a minute at best, in which
 * a busy queue kills a hundred thousand. Another replica's vacuum, or autovacuum's, is not waited for.
 *
 * @returns whether it vacuumed.
 */
export async function vacuumExecutions(db: Pick<Database, "query" | "maintain">): Promise<boolean> {
  const { live, dead } = await findTupleCounts(db);
  if (dead < Math.max(MIN_DEAD_ROWS, live * DEAD_SHARE)) return false;
  await vacuumLiveRows(db);
  return true;
}

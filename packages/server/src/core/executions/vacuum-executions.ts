import type { Database } from "../../db/pool.ts";
import { sql } from "../../db/sql.ts";

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
  const [stats] = await db.query<{ live: number; dead: number }>(sql`
    SELECT pg_stat_get_live_tuples(t) AS live, pg_stat_get_dead_tuples(t) AS dead FROM to_regclass('executions') AS t`);
  if (stats === undefined || stats.dead < Math.max(MIN_DEAD_ROWS, stats.live * DEAD_SHARE)) return false;
  await db.maintain(sql`VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) executions`);
  return true;
}

import type { Database } from "../../db/pool.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** As PostgreSQL counts the rows of `executions`, by and by; nothing while it has not counted. */
export async function findTupleCounts(db: Queryable): Promise<{ live: number; dead: number }> {
  const [counts] = await db.query<{ live: number; dead: number }>(sql`
    SELECT pg_stat_get_live_tuples(t) AS live, pg_stat_get_dead_tuples(t) AS dead FROM to_regclass('executions') AS t`);
  return counts ?? { live: 0, dead: 0 };
}

export async function vacuumLiveRows(db: Pick<Database, "maintain">): Promise<void> {
  await db.maintain(sql`VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) executions`);
}

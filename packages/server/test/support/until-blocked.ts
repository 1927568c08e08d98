import type { Queryable } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { until } from "./until.ts";

/** Waits until so many statements of the database wait for a lock. */
export const untilBlocked = (db: Queryable, statements = 1): Promise<void> =>
  until(`${statements} statements to wait for a lock`, 60_000, async () => {
    const blocked = await db.query(sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return blocked.length >= statements;
  });

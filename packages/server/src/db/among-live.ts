import type { Among } from "../live-ids.ts";
import { sql, type Sql } from "./sql.ts";

/**
 * The rows that a query finds among those that may live. The older ones and the newer ones are found by a query each, because of
 * both together PostgreSQL may think that it is better to read all there are. So it may where it takes the table for empty, unless the
 * query wants the order of the index.
 *
 * @param id the column of their ids, by which there is an index
 * @param find the query, given the condition on it
 */
export const amongLive = (live: Among | null, id: Sql, find: (isAmong: Sql) => Sql): Sql => {
  if (live === null) return sql`(${find(sql`true`)})`;
  const since = sql`(${find(sql`${id} >= ${live.since}::uuid`)})`;
  // An older one has an id before it: none is found twice.
  return live.older.length === 0
    ? since
    : sql`${since} UNION ALL (${find(sql`${id} = ANY(${live.older}::uuid[])`)})`;
};

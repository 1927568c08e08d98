// Conditions of lists that go from the newest row to the oldest, whose keys are UUIDv7.

import { LAST_UUID } from "../uuid.ts";
import { joinSql, rawSql, sql, type Sql } from "./sql.ts";

const LAST = rawSql(`'${LAST_UUID}'::uuid`);

/**
 * The rows of the pages after the one that ended with `before`; null: of all pages. It is a bound that an index is entered
 * at: with `before IS NULL OR …` a prepared plan reads and drops all rows of the pages before.
 */
export const isBefore = (key: Sql, before: string | null): Sql =>
  sql`${key} < coalesce(${before}::uuid, ${LAST})`;

/**
 * The first keys of all branches: each selects `id` in the order and at most `limit`, and is read only as far as needed. It
 * is how several values of a column are listed by an index that has the key behind the column.
 *
 * @param order of the key: `id DESC`, or `id`.
 */
export const firstOf = (branches: readonly Sql[], order: Sql, limit: number): Sql => sql`
  SELECT id FROM (${joinSql(
    branches.map((branch) => sql`(${branch})`),
    " UNION ALL ",
  )}) branches ORDER BY ${order} LIMIT ${limit}`;

export const NEWEST_FIRST = rawSql("id DESC");
export const OLDEST_FIRST = rawSql("id");

import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type RateDelta = { name: string; endsAt: number; count: number };

/** Adds what one server has counted, and gives what all of them have, in the order of the deltas. */
export async function addRateCounts(db: Queryable, deltas: readonly RateDelta[]): Promise<number[]> {
  const rows = await db.query<{ name: string; endsAt: number; count: number }>(sql`
    INSERT INTO rate_counts AS c (name, ends_at, count)
    SELECT name, to_timestamp(ends_at / 1000), count
    FROM unnest(${deltas.map(({ name }) => name)}::text[], ${deltas.map(({ endsAt }) => endsAt)}::float8[],
      ${deltas.map(({ count }) => count)}::integer[]) AS d (name, ends_at, count)
    ORDER BY name, ends_at
    ON CONFLICT (name, ends_at) DO UPDATE SET count = c.count + excluded.count
    RETURNING name, ends_at, count`);
  const totals = new Map(rows.map((row) => [`${row.name} ${row.endsAt}`, row.count]));
  return deltas.map(({ name, endsAt, count }) => totals.get(`${name} ${endsAt}`) ?? count);
}

/**
 * Counts one call, unless the window is used up.
 *
 * @returns how many there are with it; null when it is one too many.
 */
export async function countOne(
  db: Queryable,
  name: string,
  endsAt: number,
  limit: number,
): Promise<number | null> {
  const [row] = await db.query<{ count: number }>(sql`
    INSERT INTO rate_counts AS c (name, ends_at, count) VALUES (${name}, ${timestamp(endsAt)}, 1)
    ON CONFLICT (name, ends_at) DO UPDATE SET count = c.count + 1 WHERE c.count < ${limit}
    RETURNING count`);
  return row?.count ?? null;
}

/** A bounded number at a time: the next round takes the rest. */
export async function deleteEndedRates(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    DELETE FROM rate_counts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM rate_counts WHERE ends_at < ${timestamp(now)} LIMIT 20000
    ))`);
}

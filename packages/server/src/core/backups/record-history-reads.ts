import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";

/**
 * The records of output streams in two halves: those that were there when their streams were looked at, which never change, and
 * all others. Which the first are is kept in a temporary table of the session: a stream has no gaps, so its length says it.
 */

/** Whether the role may have temporary tables; only who hardened the database has taken that from it. */
export async function mayRemember(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ allowed: boolean }>(
    sql`SELECT has_database_privilege(current_database(), 'TEMP') AS allowed`,
  );
  return row?.allowed === true;
}

/**
 * Remembers how long each output stream is, in pages of about so many records.
 *
 * @returns how many pages there are.
 */
export async function rememberLengths(db: Queryable, pageRecords: number): Promise<number> {
  await db.query(
    rawSql(`CREATE TEMP TABLE copied_streams AS
      SELECT environment_id, id AS stream_id, last_sequence AS up_to,
        ((sum(last_sequence) OVER (ORDER BY environment_id, id) - 1) / ${pageRecords})::bigint AS page
      FROM streams WHERE direction = 'output' AND last_sequence > 0`),
  );
  await db.query(rawSql("CREATE INDEX ON copied_streams (page)"));
  await db.query(rawSql("CREATE UNIQUE INDEX ON copied_streams (environment_id, stream_id)"));
  await db.query(rawSql("ANALYZE copied_streams"));
  const [row] = await db.query<{ pages: number }>(
    rawSql("SELECT coalesce(max(page) + 1, 0) AS pages FROM copied_streams"),
  );
  return row?.pages ?? 0;
}

export const recordsOfPage = (page: number): Sql =>
  rawSql(`copied_streams c JOIN stream_records t
    ON t.environment_id = c.environment_id AND t.stream_id = c.stream_id AND t.sequence <= c.up_to
    WHERE c.page = ${page}`);

export const recordsOfNoPage = (): Sql =>
  rawSql(`streams s
    LEFT JOIN copied_streams c ON c.environment_id = s.environment_id AND c.stream_id = s.id
    JOIN stream_records t ON t.environment_id = s.environment_id AND t.stream_id = s.id AND t.sequence > coalesce(c.up_to, 0)`);

import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import type { RunTable } from "./backup.ts";

/**
 * The tables of runs in two halves, as what follows FROM in a copy: the runs whose ends have numbers in a range, and all others.
 * A copy takes no parameters: what is written into the text are our own names, and numbers.
 */

/**
 * All ends with a number up to this one are there and can be seen, and no other will get one. Zero when nothing was counted.
 */
export async function findCountedNumber(db: Queryable): Promise<number> {
  const [row] = await db.query<{ number: number }>(
    sql`SELECT counted_number AS number FROM run_rollup_progress`,
  );
  return row?.number ?? 0;
}

/** The number of the last of the next `limit` ends in `(after, upTo]`; null when there is none. */
export async function findPageEnd(
  db: Queryable,
  after: number,
  upTo: number,
  limit: number,
): Promise<number | null> {
  const [row] = await db.query<{ number: number | null }>(sql`
    SELECT max(p.end_number) AS number FROM (
      SELECT end_number FROM run_results WHERE end_number > ${after} AND end_number <= ${upTo}
      ORDER BY end_number LIMIT ${limit}
    ) p`);
  return row?.number ?? null;
}

/** Rows of runs whose ends have the numbers `(after, upTo]`. */
export const rowsOfEnded = (table: RunTable, after: number, upTo: number): Sql =>
  rowsOf(table, `end_number > ${toText(after)} AND end_number <= ${toText(upTo)}`, false);

/** Rows of all runs but those whose ends have a number up to `copied`: of those that live, too. */
export const rowsOfOthers = (table: RunTable, copied: number): Sql =>
  rowsOf(table, `(end_number > ${toText(copied)} OR end_number IS NULL)`, true);

function rowsOf(table: RunTable, numbers: string, withLive: boolean): Sql {
  if (table === "run_results") return rawSql(`run_results t WHERE ${numbers}`);
  const ended = `SELECT environment_id, run_id FROM run_results WHERE ${numbers}`;
  const runs = withLive ? `SELECT environment_id, run_id FROM executions UNION ALL ${ended}` : ended;
  switch (table) {
    case "runs":
      return rawSql(`(${runs}) x JOIN runs t ON t.environment_id = x.environment_id AND t.id = x.run_id`);
    case "run_tags":
      // Its key has the tag before the run.
      return rawSql(`(${runs}) x JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
        JOIN run_tags t ON t.environment_id = r.environment_id AND t.tag = ANY(r.tags) AND t.run_id = r.id`);
    default:
      return rawSql(
        `(${runs}) x JOIN ${table} t ON t.environment_id = x.environment_id AND t.run_id = x.run_id`,
      );
  }
}

function toText(number: number): string {
  if (!Number.isSafeInteger(number)) throw new RangeError(`${number} is no number of an end.`);
  return String(number);
}

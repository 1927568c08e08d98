// PostgreSQL's clock.

import type { Queryable } from "./queryable.ts";
import { rawSql } from "./sql.ts";

/** One look at PostgreSQL's clock. */
export interface Reading {
  /** Before it was asked, and after the answer came: milliseconds of this process's monotonic clock. */
  readonly askedAt: number;
  readonly answeredAt: number;
  /** What it said in between: milliseconds since the epoch. */
  readonly databaseMs: number;
}

export type TimeRow = { ms: number };

/** Not the time of the transaction, which stands still. */
export const READ_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms";

/** Reads the clock some times, and keeps what was answered soonest: it is the most exact. */
export async function readTime(db: Queryable): Promise<Reading> {
  let best: Reading | null = null;
  for (let tries = 0; tries < TRIES; tries++) {
    const askedAt = performance.now();
    const [row] = await db.query<TimeRow>(rawSql(READ_TIME));
    const answeredAt = performance.now();
    if (row === undefined) throw new Error("PostgreSQL said nothing of its clock.");
    if (best === null || answeredAt - askedAt < best.answeredAt - best.askedAt)
      best = { askedAt, answeredAt, databaseMs: row.ms };
  }
  if (best === null) throw new Error("PostgreSQL's clock was not read.");
  return best;
}

const TRIES = 5;

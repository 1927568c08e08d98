import type { Queryable } from "../db/queryable.ts";
import { READ_TIME } from "../db/read-time.ts";
import { joinSql, rawSql, sql, type Sql } from "../db/sql.ts";
import type { Clock } from "../clock.ts";
import type { LastAsked } from "../last-asked.ts";
import type { Timekeeper } from "../time/timekeeper.ts";

/** What is looked for: whether something of it is due by then, and what begins when it is. */
export type DueWork = {
  due: (by: number) => Sql;
  /** Whether it may begin now. */
  mayBegin: () => boolean;
  wake: () => void;
};

export type LookContext = {
  db: Queryable;
  clock: Clock;
  timekeeper: Pick<Timekeeper, "hear">;
  lastAsked: Pick<LastAsked, "at">;
  leaseDurationMs: number;
};

/**
 * How long a server that nobody asks anything rests after a look by which nothing becomes due meanwhile. What is due only while
 * a worker is heard is looked for as if the worker were not heard until the end of the rest: so this is less than the third of
 * a lease by which a worker's word outlasts its next one.
 */
const restMsOf = (leaseDurationMs: number): number => Math.min(2_000, leaseDurationMs / 7.5);

/**
 * What is due of any work is looked for in one statement, so that a server with nothing to do costs next to nothing. It asks
 * for the time too: the connection that hears notifications, which does so as well, may be away for long while the server is
 * not.
 *
 * @returns a look, for twice a second. Since the server was last asked for anything, most looks are none: one of them has
 * looked at what becomes due in the next seconds, and nothing did.
 */
export function createDueLook(
  works: readonly DueWork[],
  context: LookContext,
  monotonic: () => number = () => performance.now(),
): () => Promise<void> {
  const { clock, lastAsked } = context;
  const restMs = restMsOf(context.leaseDurationMs);
  const find = async (looked: readonly DueWork[], by: number): Promise<DueWork[]> => {
    const rows = looked.map(({ due }, index) => sql`(${index}::integer, ${due(by)})`);
    const found = await askFor(rows, context);
    return looked.filter((_, index) => found.has(index));
  };
  let lookedAt = Number.NEGATIVE_INFINITY;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let nothingBefore = Number.NEGATIVE_INFINITY;
  let looksAheadFrom = Number.NEGATIVE_INFINITY;
  return async () => {
    const begun = monotonic();
    const now = clock();
    const isUnasked = lastAsked.at() < lookedAt;
    if (isUnasked && begun < restsUntil && now < nothingBefore) return;
    lookedAt = begun;
    const looked = works.filter(({ mayBegin }) => mayBegin());
    if (isUnasked && looked.length === works.length && begun >= looksAheadFrom) {
      if ((await find(looked, now + restMs)).length === 0) {
        restsUntil = begun + restMs;
        nothingBefore = now + restMs;
        return;
      }
      looksAheadFrom = begun + restMs;
    }
    for (const { wake } of await find(looked, now)) wake();
  };
}

/** @param rows each an index, and a condition. @returns the indexes of those that hold */
async function askFor(rows: readonly Sql[], { db, timekeeper }: LookContext): Promise<Set<number>> {
  const askedAt = performance.now();
  const answers = await db.query<{ index: number | null; ms: number | null }>(sql`
    SELECT d.index, NULL AS ms FROM (VALUES ${joinSql(rows, ", ")}) AS d (index, is_due) WHERE d.is_due
    UNION ALL SELECT NULL, (${rawSql(READ_TIME)})`);
  const found = new Set<number>();
  for (const { index, ms } of answers) {
    if (ms !== null) timekeeper.hear({ askedAt, answeredAt: performance.now(), databaseMs: ms });
    if (index !== null) found.add(index);
  }
  return found;
}

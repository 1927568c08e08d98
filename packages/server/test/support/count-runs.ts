// Rollups of ended runs beside a count over all rows.

import assert from "node:assert/strict";
import { createRunCounting, type CountContext } from "../../src/core/run-rollups/count-ended-runs.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import type { Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { until } from "./until.ts";

const IN_TIME_MS = 60_000;

/** Counts what has ended, as a server that has just started would. */
export const countEnded = (db: Database, clock: () => number): Promise<void> =>
  countAs({ db, clock, noteLoopFailure: () => undefined, isSettled: () => true });

export async function countAs(context: CountContext): Promise<void> {
  const count = createRunCounting(context);
  await until("all ended runs are counted", IN_TIME_MS, async () => {
    await count();
    return isCounted(context.db);
  });
}

/** Whether nothing is left to be counted, but for what was set aside. */
export async function isCounted(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ done: boolean }>(sql`
    SELECT p.filled AND p.counted_number >= coalesce((SELECT max(end_number) FROM run_results), 0) AS done FROM run_rollup_progress p`);
  return row?.done === true;
}

type Counts = { environmentId: string; kind: string; entrypoint: string; at: number; counts: string };

/** Of each environment, entrypoint and hour (or minute), the runs by outcome and the number of durations, from the rows of runs. */
const fromRuns = (db: Queryable, seconds: number): Promise<Counts[]> =>
  db.query<Counts>(sql`
    SELECT x.environment_id, k.kind, k.entrypoint, to_timestamp(floor(extract(epoch FROM x.finished_at) / ${seconds}::integer) * ${seconds}::integer) AS at,
      concat_ws(' ', count(*) FILTER (WHERE x.status = 'succeeded'), count(*) FILTER (WHERE x.status = 'failed'),
        count(*) FILTER (WHERE x.status = 'cancelled'), count(*) FILTER (WHERE x.status = 'expired'),
        count(*) FILTER (WHERE x.status = 'system_failed')) AS counts
    FROM run_results x
    JOIN runs r ON r.environment_id = x.environment_id AND r.id = x.run_id
    CROSS JOIN LATERAL (VALUES (r.entrypoint_kind, r.entrypoint), ('all', '')) AS k (kind, entrypoint)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`);

const fromRollups = (db: Queryable, minutes: number): Promise<Counts[]> =>
  db.query<Counts>(sql`
    SELECT environment_id, entrypoint_kind AS kind, entrypoint, at,
      concat_ws(' ', succeeded, failed, cancelled, expired, system_failed) AS counts
    FROM run_rollups WHERE minutes = ${minutes} ORDER BY 1, 2, 3, 4`);

/** @throws when any hour or minute of any entrypoint has other sums than the rows of its runs. @returns how many rows were compared. */
export async function checkRollups(db: Queryable): Promise<number> {
  let compared = 0;
  for (const minutes of [1, 60]) {
    const runs = await fromRuns(db, minutes * 60);
    assert.deepEqual(await fromRollups(db, minutes), runs);
    compared += runs.length;
  }
  return compared;
}

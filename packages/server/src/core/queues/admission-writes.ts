// The statements that give slots of limited queues to runs. Each reads as many rows as it gives slots to, whatever the
// backlog; the queues' rows are locked by the transaction, so that nobody else gives slots meanwhile. Who holds a slot is
// counted from the live rows: there is no counter that could drift from the truth.

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import type { Queue, Slot } from "./slot.ts";

/** What one statement gives at most to one queue or concurrency key. */
export const MOST_AT_ONCE = 500;

/** As in the predicates of the indexes `executions_next` and `executions_next_of_key`. */
const WAITING = rawSql(`e.limited AND NOT e.admitted AND e.status = 'queued' AND e.available_at IS NULL`);

/** Of a queue `q` in the statement. */
const HELD = rawSql(`
  (SELECT count(*) FROM executions h
   WHERE h.environment_id = q.environment_id AND h.queue = q.name AND h.limited AND h.admitted)`);
/** Of a concurrency key `k` in the statement. */
const HELD_BY_KEY = rawSql(`
  (SELECT count(*) FROM executions h
   WHERE h.environment_id = k.environment_id AND h.queue = k.queue AND h.concurrency_key = k.key AND h.limited AND h.admitted)`);
const FREE = sql`greatest(0, least(${MOST_AT_ONCE}, coalesce(q.concurrency_limit - ${HELD}, ${MOST_AT_ONCE})))`;

/** Of the CTE `picked`. One that another transaction has changed since is left to the admission that follows its change. */
const ADMIT = sql`
  UPDATE executions e SET admitted = true, ready = true, updated_at = now()
  WHERE e.environment_id = ANY(ARRAY(SELECT DISTINCT environment_id FROM picked)) AND e.run_id = ANY(ARRAY(SELECT run_id FROM picked))
    AND ${WAITING}
  RETURNING e.environment_id, e.queue`;

const byQueue = (queues: readonly Queue[]): Sql => sql`
  unnest(${queues.map(({ environmentId }) => environmentId)}::uuid[], ${queues.map(({ queue }) => queue)}::text[])`;

/** The next runs of these keys, of those in queues without a limit in all. @returns how many. */
export async function admitByKey(tx: Tx, slots: readonly Slot[]): Promise<number> {
  const rows = await tx.query<Admitted>(sql`
    WITH picked AS (
      SELECT e.environment_id, e.run_id
      FROM unnest(${slots.map(({ environmentId }) => environmentId)}::uuid[], ${slots.map(({ queue }) => queue)}::text[],
        ${slots.map(({ concurrencyKey }) => concurrencyKey)}::text[]) AS k (environment_id, queue, key)
      JOIN queues q ON q.environment_id = k.environment_id AND q.name = k.queue AND q.concurrency_limit IS NULL
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id FROM executions e
        WHERE e.environment_id = k.environment_id AND e.queue = k.queue AND e.concurrency_key = k.key AND ${WAITING}
        ORDER BY e.priority DESC, e.run_id LIMIT greatest(0, least(${MOST_AT_ONCE}, q.concurrency_key_limit - ${HELD_BY_KEY}))
      ) e
    )
    ${ADMIT}`);
  return rows.length;
}

type Admitted = { environmentId: Uuid<"env">; queue: string };

/** `isLeft`: there are slots left, and runs that were not looked at. */
export type Admission = Queue & { admitted: number; isLeft: boolean };

/** Looks at that many of the first runs of each queue more than it has slots, and gives these to runs of keys that are not used up. */
export const admitInOrder = (tx: Tx, queues: readonly Queue[], look: number): Promise<Admission[]> =>
  tx.query<Admission>(sql`
    WITH frees AS (
      SELECT q.environment_id, q.name AS queue, q.concurrency_key_limit AS per_key, ${FREE} AS free
      FROM ${byQueue(queues)} AS a (environment_id, name)
      JOIN queues q ON q.environment_id = a.environment_id AND q.name = a.name
    ), first AS (
      SELECT f.environment_id, f.queue, f.per_key, f.free, e.key, e.run_id, e.priority,
        row_number() OVER (PARTITION BY f.environment_id, f.queue, e.key ORDER BY e.priority DESC, e.run_id) AS place
      FROM frees f CROSS JOIN LATERAL (
        SELECT e.concurrency_key AS key, e.run_id, e.priority FROM executions e
        WHERE e.environment_id = f.environment_id AND e.queue = f.queue AND ${WAITING}
        ORDER BY e.priority DESC, e.run_id LIMIT CASE WHEN f.free > 0 THEN f.free + ${look}::integer ELSE 0 END
      ) e
    ), fitting AS (
      SELECT k.environment_id, k.queue, k.run_id, k.free,
        row_number() OVER (PARTITION BY k.environment_id, k.queue ORDER BY k.priority DESC, k.run_id) AS turn
      FROM first k WHERE k.key IS NULL OR (k.place <= k.per_key AND k.place <= k.per_key - ${HELD_BY_KEY})
    ), picked AS (
      SELECT environment_id, run_id FROM fitting WHERE turn <= free
    ), admitted AS (${ADMIT})
    -- Counted in one go: a join of these would hold each queue against each run.
    SELECT environment_id, queue, sum(admitted) AS admitted,
      max(free) > sum(admitted) AND sum(looked_at) = max(free) + ${look}::integer AS is_left
    FROM (
      SELECT environment_id, queue, free, 0 AS looked_at, 0 AS admitted FROM frees
      UNION ALL SELECT environment_id, queue, NULL, 1, 0 FROM first
      UNION ALL SELECT environment_id, queue, NULL, 0, 1 FROM admitted
    ) c GROUP BY environment_id, queue`);

/** The next runs of a queue, found by going from key to key (a loose scan). @returns how many. */
export async function admitKeyByKey(tx: Tx, { environmentId, queue }: Queue): Promise<number> {
  const inQueue = sql`e.environment_id = ${environmentId} AND e.queue = ${queue} AND ${WAITING}`;
  const rows = await tx.query<Admitted>(sql`
    WITH RECURSIVE keys AS (
      (SELECT e.concurrency_key AS key FROM executions e WHERE ${inQueue} AND e.concurrency_key IS NOT NULL
       ORDER BY e.concurrency_key LIMIT 1)
      UNION ALL
      SELECT (SELECT e.concurrency_key FROM executions e WHERE ${inQueue} AND e.concurrency_key > p.key
              ORDER BY e.concurrency_key LIMIT 1)
      FROM keys p WHERE p.key IS NOT NULL
    ), limits AS (
      SELECT q.environment_id, q.name AS queue, q.concurrency_key_limit AS per_key, ${FREE} AS free FROM queues q
      WHERE q.environment_id = ${environmentId} AND q.name = ${queue}
    ), heads AS (
      SELECT e.run_id, e.priority
      FROM (SELECT l.environment_id, l.queue, l.per_key, l.free, p.key FROM limits l CROSS JOIN keys p WHERE p.key IS NOT NULL) k
      CROSS JOIN LATERAL (
        SELECT e.run_id, e.priority FROM executions e WHERE ${inQueue} AND e.concurrency_key = k.key
        ORDER BY e.priority DESC, e.run_id LIMIT greatest(0, least(k.free, k.per_key - ${HELD_BY_KEY}))
      ) e
      UNION ALL
      (SELECT e.run_id, e.priority FROM executions e WHERE ${inQueue} AND e.concurrency_key IS NULL
       ORDER BY e.priority DESC, e.run_id LIMIT (SELECT free FROM limits))
    ), picked AS (
      SELECT ${environmentId}::uuid AS environment_id, run_id FROM heads
      ORDER BY priority DESC, run_id LIMIT (SELECT free FROM limits)
    )
    ${ADMIT}`);
  return rows.length;
}

import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { ITEM_RETRY_DELAYS_MS, type LoopFailure, type LoopItem } from "./loop-failure.ts";

/**
 * Sets an item aside, twice as long as the last time. Null when another server has just done so: two that tried the same
 * item at once are one failure.
 */
export async function upsertLoopFailure(
  db: Queryable,
  failure: LoopItem & { loop: string; cause: string; now: number },
): Promise<LoopFailure | null> {
  const { loop, environmentId, itemId, cause, now } = failure;
  const [row] = await db.query<LoopFailure>(sql`
    INSERT INTO loop_failures AS f (loop, environment_id, item_id, failures, cause, first_failed_at, last_failed_at, retry_at)
    VALUES (${loop}, ${environmentId}, ${itemId}, 1, ${cause}, ${timestamp(now)},
      ${timestamp(now)}, ${timestamp(now + ITEM_RETRY_DELAYS_MS[0])})
    ON CONFLICT (loop, environment_id, item_id) DO UPDATE
      SET failures = f.failures + 1, cause = excluded.cause, last_failed_at = excluded.last_failed_at,
        retry_at = excluded.last_failed_at + make_interval(secs =>
          (${ITEM_RETRY_DELAYS_MS}::float8[])[least(f.failures + 1, ${ITEM_RETRY_DELAYS_MS.length}::integer)] / 1000)
      WHERE f.retry_at <= excluded.last_failed_at
    RETURNING f.loop, f.environment_id, f.item_id, f.failures, f.cause,
      f.first_failed_at, f.last_failed_at, f.retry_at`);
  return row ?? null;
}

/** The items were processed. */
export async function deleteLoopFailures(
  db: Queryable,
  loop: string,
  items: readonly LoopItem[],
): Promise<void> {
  await db.query(sql`
    DELETE FROM loop_failures f
    USING unnest(${items.map((item) => item.environmentId)}::uuid[], ${items.map((item) => item.itemId)}::text[]) AS i (environment_id, item_id)
    WHERE f.loop = ${loop} AND f.environment_id = i.environment_id AND f.item_id = i.item_id`);
}

/** Forgets items that have been due for so long that they are gone, or were processed by somebody else. */
export async function deleteStaleLoopFailures(db: Queryable, dueBefore: number): Promise<void> {
  await db.query(sql`DELETE FROM loop_failures WHERE retry_at < ${timestamp(dueBefore)}`);
}

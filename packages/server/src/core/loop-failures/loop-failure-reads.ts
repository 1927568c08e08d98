import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { LoopFailure, LoopItem } from "./loop-failure.ts";

/** A condition on an item of a loop: it is not set aside. The table is empty as a rule, and found by its key. */
export const isNotSetAside = (loop: string, environmentId: Sql, itemId: Sql, now: number): Sql => sql`
  NOT EXISTS (SELECT FROM loop_failures f WHERE f.loop = ${loop} AND f.environment_id = ${environmentId}
    AND f.item_id = ${itemId}::text AND f.retry_at > ${timestamp(now)})`;

const COLUMNS = rawSql(`
  loop, environment_id, item_id, failures, cause, first_failed_at,
  last_failed_at, retry_at`);

/** What a round may know of, of one loop: beyond it an item is only retried sooner. */
const KNOWN_LIMIT = 10_000;

/** The items of a loop that failed the last time; `Id` is what its items are known by. */
export async function listFailedItems<Id extends string = string>(
  db: Queryable,
  loop: string,
): Promise<(LoopItem<Id> & { retryAt: number })[]> {
  const rows = await db.query<LoopItem & { retryAt: number }>(sql`
    SELECT environment_id, item_id, retry_at
    FROM loop_failures WHERE loop = ${loop} LIMIT ${KNOWN_LIMIT}`);
  return rows as (LoopItem<Id> & { retryAt: number })[];
}

/** Of an environment's items those that are not set aside. */
export async function omitSetAside<Id extends string>(
  db: Queryable,
  loop: string,
  environmentId: Uuid<"env">,
  itemIds: readonly Id[],
  now: number,
): Promise<Id[]> {
  if (itemIds.length === 0) return [];
  const rows = await db.query<{ itemId: string }>(sql`
    SELECT item_id FROM loop_failures
    WHERE loop = ${loop} AND environment_id = ${environmentId} AND item_id = ANY(${itemIds}::text[])
      AND retry_at > ${timestamp(now)}`);
  const setAside = new Set<string>(rows.map(({ itemId }) => itemId));
  return itemIds.filter((itemId) => !setAside.has(itemId));
}

/** Of all environments, for the installation's administrators: the last that failed first. */
export const listLoopFailures = (db: Queryable, limit: number): Promise<LoopFailure[]> =>
  db.query(sql`SELECT ${COLUMNS} FROM loop_failures ORDER BY last_failed_at DESC, item_id LIMIT ${limit}`);

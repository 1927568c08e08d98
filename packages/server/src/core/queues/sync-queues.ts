import type { QueueDeclaration } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { admitLimitedRuns } from "./admit-limited-runs.ts";

const DEFAULT_KEY_LIMIT = 1;

/**
 * Puts the declared limits in force. A queue that was declared before and is no longer gets the limits of an undeclared
 * one: none in all, one run a concurrency key. Runs that wait for a slot of a changed queue are admitted by its new limits;
 * runs that have started keep theirs.
 *
 * @returns the number of runs that became ready.
 */
export async function syncQueues(
  tx: Tx,
  environmentId: string,
  declared: readonly QueueDeclaration[],
): Promise<number> {
  const changed = await writeLimits(tx, environmentId, declared);
  let admitted = 0;
  for (const name of changed) admitted += await admitLimitedRuns(tx, environmentId, name);
  return admitted;
}

/** @returns names of queues whose limits changed, sorted: the order in which queues are locked. */
async function writeLimits(
  tx: Tx,
  environmentId: string,
  declared: readonly QueueDeclaration[],
): Promise<string[]> {
  const names = declared.map((queue) => queue.name);
  const totals = declared.map((queue) => queue.concurrency_limit ?? null);
  const perKey = declared.map((queue) => queue.concurrency_key_limit ?? DEFAULT_KEY_LIMIT);
  // Locks first, in name order, as every transaction that holds several queues does.
  await tx.query(sql`
    SELECT name FROM queues
    WHERE environment_id = ${environmentId}
      AND (name = ANY(${names}::text[]) OR concurrency_limit IS NOT NULL OR concurrency_key_limit <> ${DEFAULT_KEY_LIMIT}::integer)
    ORDER BY name FOR UPDATE`);
  const rows = await tx.query<{ name: string }>(sql`
    WITH declared AS (
      SELECT * FROM unnest(${names}::text[], ${totals}::integer[], ${perKey}::integer[]) AS d (name, total, per_key)
    ), undeclared AS (
      UPDATE queues SET concurrency_limit = NULL, concurrency_key_limit = ${DEFAULT_KEY_LIMIT}::integer, updated_at = now()
      WHERE environment_id = ${environmentId} AND name <> ALL(${names}::text[])
        AND (concurrency_limit IS NOT NULL OR concurrency_key_limit <> ${DEFAULT_KEY_LIMIT}::integer)
      RETURNING name
    ), written AS (
      INSERT INTO queues AS q (environment_id, name, concurrency_limit, concurrency_key_limit)
      SELECT ${environmentId}::uuid, name, total, per_key FROM declared ORDER BY name
      ON CONFLICT (environment_id, name) DO UPDATE
        SET concurrency_limit = excluded.concurrency_limit, concurrency_key_limit = excluded.concurrency_key_limit, updated_at = now()
        WHERE q.concurrency_limit IS DISTINCT FROM excluded.concurrency_limit
          OR q.concurrency_key_limit <> excluded.concurrency_key_limit
      RETURNING name
    )
    SELECT name FROM undeclared UNION ALL SELECT name FROM written`);
  return rows.map((row) => row.name).sort();
}

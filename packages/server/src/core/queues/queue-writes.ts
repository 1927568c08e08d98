import type { QueueDeclaration, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Queue } from "./slot.ts";

const DEFAULT_KEY_LIMIT = 1;

/** Those that have no row yet. */
export async function insertQueues(tx: Tx, queues: readonly Queue[]): Promise<void> {
  await tx.send(sql`
    INSERT INTO queues (environment_id, name)
    SELECT environment_id, name
    FROM unnest(${queues.map(({ environmentId }) => environmentId)}::uuid[], ${queues.map(({ queue }) => queue)}::text[])
      AS k (environment_id, name)
    ORDER BY environment_id, name
    ON CONFLICT (environment_id, name) DO NOTHING`);
}

/** @returns names of queues whose limits changed, sorted: the order in which queues are locked. */
export async function writeLimits(
  tx: Tx,
  environmentId: Uuid<"env">,
  declared: readonly QueueDeclaration[],
): Promise<string[]> {
  const names = declared.map((queue) => queue.name);
  const totals = declared.map((queue) => queue.concurrency_limit ?? null);
  const perKey = declared.map((queue) => queue.concurrency_key_limit ?? DEFAULT_KEY_LIMIT);
  // Locks first, in name order, as every transaction that holds several queues does.
  await tx.send(sql`
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

import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { QuotaOverrides } from "./quota.ts";

export type RunUse = { environmentId: Uuid<"env">; limit: number | null; used: number };

/** Live runs of environments, from the counts that every change of a run keeps. What has no limit is not added up. */
export function listRunUses(
  db: Queryable,
  environmentIds: readonly Uuid<"env">[],
  limitByDefault: number,
): Promise<RunUse[]> {
  return db.query<RunUse>(sql`
    SELECT e.id AS environment_id, q.live_runs AS limit, coalesce((
      SELECT sum(c.count) FROM run_counts c WHERE c.environment_id = e.id
        AND coalesce(q.live_runs, ${limitByDefault}::integer) > 0
        AND c.status IN ('queued', 'running', 'waiting', 'retry_delayed', 'cancel_requested')
    ), 0)::bigint AS used
    FROM unnest(${environmentIds}::uuid[]) AS e (id)
    LEFT JOIN environment_quotas q ON q.environment_id = e.id`);
}

export type StorageUse = { environmentId: Uuid<"env">; limit: number | null; used: number };

/** Bytes of environments: their blobs and bundles, and what was counted of records and logs. */
export function listStorageUses(
  db: Queryable,
  environmentIds: readonly Uuid<"env">[],
  limitByDefault: number,
): Promise<StorageUse[]> {
  return db.query<StorageUse>(sql`
    SELECT e.id AS environment_id, q.stored_bytes AS limit,
      CASE WHEN coalesce(q.stored_bytes, ${limitByDefault}::bigint) = 0 THEN 0 ELSE
        coalesce((SELECT sum(b.size_bytes) FROM blobs b WHERE b.environment_id = e.id), 0)::bigint
        + coalesce((SELECT sum(b.size_bytes) FROM bundles b WHERE b.environment_id = e.id), 0)::bigint
        + coalesce((SELECT s.bytes FROM stored_bytes s WHERE s.environment_id = e.id), 0)
      END AS used
    FROM unnest(${environmentIds}::uuid[]) AS e (id)
    LEFT JOIN environment_quotas q ON q.environment_id = e.id`);
}

export async function findQuotas(db: Queryable, environmentId: Uuid<"env">): Promise<QuotaOverrides | null> {
  const [row] = await db.query<QuotaOverrides>(sql`
    SELECT q.live_runs, q.event_streams, q.stored_bytes
    FROM environments v LEFT JOIN environment_quotas q ON q.environment_id = v.id
    WHERE v.id = ${environmentId}`);
  return row ?? null;
}

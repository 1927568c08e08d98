import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { QuotaOverrides } from "./quota.ts";

/** False when there is no such environment. */
export async function upsertQuotas(
  tx: Tx,
  environmentId: Uuid<"env">,
  { liveRuns, eventStreams, storedBytes }: QuotaOverrides,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO environment_quotas (environment_id, live_runs, event_streams, stored_bytes, updated_at)
    SELECT id, ${liveRuns}::integer, ${eventStreams}::integer, ${storedBytes}::bigint, ${timestamp(now)}
    FROM environments WHERE id = ${environmentId}
    ON CONFLICT (environment_id) DO UPDATE SET live_runs = excluded.live_runs, event_streams = excluded.event_streams,
      stored_bytes = excluded.stored_bytes, updated_at = excluded.updated_at
    RETURNING 1 AS written`);
  return rows.length === 1;
}

/** Adds what one server has counted since it last did. Rows are taken in one order by all. */
export async function addStoredBytes(db: Queryable, bytes: ReadonlyMap<Uuid<"env">, number>): Promise<void> {
  await db.query(sql`
    INSERT INTO stored_bytes AS s (environment_id, bytes)
    SELECT environment_id, bytes FROM unnest(${[...bytes.keys()]}::uuid[], ${[...bytes.values()]}::bigint[])
      AS d (environment_id, bytes) ORDER BY environment_id
    ON CONFLICT (environment_id) DO UPDATE SET bytes = greatest(0, s.bytes + excluded.bytes)`);
}

export type EventStreamUse = { environmentId: Uuid<"env">; limit: number | null; others: number };

/** Says how many event streams of environments are open here, and returns how many the other servers say. */
export function exchangeEventStreams(
  db: Queryable,
  serverId: string,
  open: ReadonlyMap<Uuid<"env">, number>,
): Promise<EventStreamUse[]> {
  const environmentIds = [...open.keys()];
  return db.query<EventStreamUse>(sql`
    WITH written AS (
      INSERT INTO event_stream_counts AS c (environment_id, server_id, count, seen_at)
      SELECT environment_id, ${serverId}::uuid, count, now()
      FROM unnest(${environmentIds}::uuid[], ${[...open.values()]}::integer[]) AS o (environment_id, count)
      ORDER BY environment_id
      ON CONFLICT (environment_id, server_id) DO UPDATE SET count = excluded.count, seen_at = excluded.seen_at
    )
    SELECT e.id AS environment_id, q.event_streams AS limit, coalesce((
      SELECT sum(c.count) FROM event_stream_counts c
      WHERE c.environment_id = e.id AND c.server_id <> ${serverId} AND c.seen_at > now() - interval '15 seconds'
    ), 0)::bigint AS others
    FROM unnest(${environmentIds}::uuid[]) AS e (id)
    LEFT JOIN environment_quotas q ON q.environment_id = e.id`);
}

/** Of servers that are gone, and of environments where nothing is open any more. */
export async function deleteOldEventStreams(db: Queryable): Promise<void> {
  await db.query(sql`DELETE FROM event_stream_counts WHERE seen_at < now() - interval '1 minute'`);
}

import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** `runs` in ASCII. */
const SAMPLE_LOCK = 0x72756e73;

/** One server at a time samples; what the other has done it need not. Ends with the transaction. */
export async function takeSampleLock(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>(
    sql`SELECT pg_try_advisory_xact_lock(${SAMPLE_LOCK}) AS taken`,
  );
  return row?.taken === true;
}

/**
 * Samples the environments in which something has happened since their newest sample, and drops of those what is older
 * than `keptSince`, but for the newest that is: it says what had happened before the next.
 *
 * @param minute when it began, in milliseconds. What is there for it already stays.
 */
export async function sampleRunCounts(tx: Tx, minute: number, keptSince: number): Promise<void> {
  await tx.send(sql`
    WITH totals AS (
      SELECT environment_id, sum(count)::bigint AS created,
        coalesce(sum(count) FILTER (WHERE status = 'succeeded'), 0)::bigint AS succeeded,
        coalesce(sum(count) FILTER (WHERE status = 'failed'), 0)::bigint AS failed,
        coalesce(sum(count) FILTER (WHERE status = 'cancelled'), 0)::bigint AS cancelled,
        coalesce(sum(count) FILTER (WHERE status = 'expired'), 0)::bigint AS expired,
        coalesce(sum(count) FILTER (WHERE status = 'system_failed'), 0)::bigint AS system_failed
      -- What was dropped is in another shard.
      FROM run_counts WHERE shard >= 0 GROUP BY environment_id
    ), changed AS (
      SELECT t.* FROM totals t
      LEFT JOIN LATERAL (
        SELECT s.created, s.succeeded, s.failed, s.cancelled, s.expired, s.system_failed FROM run_count_samples s
        WHERE s.environment_id = t.environment_id ORDER BY s.at DESC LIMIT 1
      ) n ON true
      WHERE (t.created, t.succeeded, t.failed, t.cancelled, t.expired, t.system_failed)
        IS DISTINCT FROM (n.created, n.succeeded, n.failed, n.cancelled, n.expired, n.system_failed)
    ), dropped AS (
      DELETE FROM run_count_samples s USING changed c
      WHERE s.environment_id = c.environment_id AND s.at < (
        SELECT max(k.at) FROM run_count_samples k
        WHERE k.environment_id = c.environment_id AND k.at <= ${timestamp(keptSince)})
    )
    INSERT INTO run_count_samples (environment_id, at, created, succeeded, failed, cancelled, expired, system_failed)
    SELECT environment_id, ${timestamp(minute)}, created, succeeded, failed, cancelled, expired, system_failed
    FROM changed
    ON CONFLICT (environment_id, at) DO NOTHING`);
}

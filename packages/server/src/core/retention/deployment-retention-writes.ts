import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { stayingDeployments } from "./deployment-retention-reads.ts";

/** Those in other hands, as of a start that pins one, wait for the next round. */
export async function lockDeployments(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentIds: readonly Uuid<"dep">[],
): Promise<Uuid<"dep">[]> {
  const rows = await tx.query<{ id: Uuid<"dep"> }>(sql`
    SELECT id FROM deployments WHERE environment_id = ${environmentId} AND id = ANY(${deploymentIds}::uuid[])
    ORDER BY id FOR UPDATE SKIP LOCKED`);
  return rows.map(({ id }) => id);
}

/**
 * Drops locked deployments with their events, unless something needs them now: a statement of its own after the locking
 * one, so that it sees what was committed before the lock was taken. Their bundles may be needed by nobody now.
 */
export async function deleteDeployments(
  tx: Tx,
  environmentId: Uuid<"env">,
  lockedIds: readonly string[],
  endedBefore: number,
  now: number,
): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    WITH staying AS MATERIALIZED (${stayingDeployments(environmentId)}), due AS MATERIALIZED (
      SELECT d.id, d.bundle_digest FROM deployments d
      WHERE d.environment_id = ${environmentId} AND d.id = ANY(${lockedIds}::uuid[])
        AND d.updated_at < ${timestamp(endedBefore)} AND NOT EXISTS (SELECT 1 FROM staying s WHERE s.id = d.id)
    ), events AS (
      DELETE FROM deployment_events WHERE environment_id = ${environmentId} AND deployment_id IN (SELECT id FROM due)
    ), gone AS (
      DELETE FROM deployments WHERE environment_id = ${environmentId} AND id IN (SELECT id FROM due) RETURNING 1
    ), released AS (
      INSERT INTO bundle_candidates AS c (environment_id, digest, touched_at)
      SELECT DISTINCT ${environmentId}::uuid, bundle_digest, ${timestamp(now)} FROM due ORDER BY bundle_digest
      ON CONFLICT (environment_id, digest) DO UPDATE SET touched_at = greatest(c.touched_at, excluded.touched_at)
    )
    SELECT count(*) AS dropped FROM gone`);
  return row?.dropped ?? 0;
}

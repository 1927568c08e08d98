import { encodeId, type DeploymentCheck } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** A worker that has not answered by then is taken for gone, and another one is asked. */
export const CHECK_DURATION_MS = 60_000;

/** A bundle that ended this many workers without an answer is not offered to another. */
export const MAX_CHECKS = 3;

export type CheckLease = { workerId: string; workerGroupId: string; now: number; limit: number };

/**
 * Gives a worker pending deployments of its group to boot. One statement, oldest first; rows that another worker is being
 * given are skipped. The new check id makes an answer to any earlier check void.
 */
export async function leaseDeploymentChecks(
  db: Queryable,
  { workerId, workerGroupId, now, limit }: CheckLease,
): Promise<DeploymentCheck[]> {
  const rows = await db.query<{
    id: string;
    checkId: string;
    bundleDigest: Buffer;
    bundleFormatVersion: number;
  }>(sql`
    UPDATE deployments d
    SET check_count = check_count + 1, check_id = gen_random_uuid(), check_worker_id = ${workerId},
      check_expires_at = to_timestamp(${now + CHECK_DURATION_MS}::float8 / 1000)
    FROM (
      SELECT p.environment_id, p.id
      FROM deployments p JOIN environments v ON v.id = p.environment_id
      WHERE p.status = 'pending' AND p.check_count < ${MAX_CHECKS} AND (p.check_expires_at IS NULL OR p.check_expires_at <= to_timestamp(${now}::float8 / 1000))
        AND v.worker_group_id = ${workerGroupId}
      ORDER BY p.created_at LIMIT ${limit}
      FOR UPDATE OF p SKIP LOCKED
    ) free
    WHERE d.environment_id = free.environment_id AND d.id = free.id
    RETURNING d.id, d.check_id AS "checkId", d.bundle_digest AS "bundleDigest", d.bundle_format_version AS "bundleFormatVersion"`);
  return rows.map((row) => ({
    deployment_id: encodeId("dep", row.id),
    check_id: row.checkId,
    bundle_digest: row.bundleDigest.toString("hex"),
    bundle_format_version: row.bundleFormatVersion,
  }));
}

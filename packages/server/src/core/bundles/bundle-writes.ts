import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/**
 * Announces an upload, so that the bytes are not removed meanwhile. A statement of its own after `shareCollectionLock`, so
 * that it sees a removal that was begun while the lock was waited for.
 *
 * @returns false while former bytes with the digest are being removed.
 */
export async function announceBundle(
  tx: Tx,
  environmentId: Uuid<"env">,
  digest: Buffer,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO bundle_candidates AS c (environment_id, digest, touched_at)
    SELECT ${environmentId}::uuid, ${digest}::bytea, ${timestamp(now)}
    WHERE NOT EXISTS (SELECT 1 FROM bundle_removals r WHERE r.digest = ${digest})
    ON CONFLICT (environment_id, digest) DO UPDATE SET touched_at = greatest(c.touched_at, excluded.touched_at)
    RETURNING 1 AS announced`);
  return rows.length === 1;
}

/**
 * Records that the environment has an announced bundle; a repeat changes nothing. False when the announcement went
 * meanwhile: the upload took longer than anything is kept that nobody needs.
 */
export async function insertBundle(
  db: Queryable,
  environmentId: Uuid<"env">,
  digest: Buffer,
  sizeBytes: number,
  now: number,
): Promise<boolean> {
  const rows = await db.query(sql`
    WITH announced AS (
      UPDATE bundle_candidates SET touched_at = greatest(touched_at, ${timestamp(now)})
      WHERE environment_id = ${environmentId} AND digest = ${digest} RETURNING 1
    ), inserted AS (
      INSERT INTO bundles (environment_id, digest, size_bytes)
      SELECT ${environmentId}::uuid, ${digest}::bytea, ${sizeBytes}::bigint FROM announced
      ON CONFLICT (environment_id, digest) DO NOTHING
    )
    SELECT 1 AS stored FROM announced`);
  return rows.length === 1;
}

/**
 * Counts the asking for files as their use, so that an upload may go on for days. A row that another caller or the collector
 * has locked is left to them, and one that was touched lately is not written again.
 */
export async function touchBundleCandidates(
  db: Queryable,
  environmentId: Uuid<"env">,
  digests: readonly Buffer[],
  touchedBefore: number,
  now: number,
): Promise<void> {
  await db.query(sql`
    WITH due AS (
      SELECT c.digest FROM bundle_candidates c
      WHERE c.environment_id = ${environmentId} AND c.digest = ANY(${digests}::bytea[])
        AND c.touched_at < ${timestamp(touchedBefore)}
      FOR UPDATE SKIP LOCKED
    )
    UPDATE bundle_candidates c SET touched_at = ${timestamp(now)} FROM due d
    WHERE c.environment_id = ${environmentId} AND c.digest = d.digest`);
}

/** The row is locked against removal before it is believed. */
export async function lockBundle(
  tx: Tx,
  environmentId: Uuid<"env">,
  digest: Buffer,
): Promise<{ sizeBytes: number } | null> {
  const [row] = await tx.query<{ sizeBytes: number }>(sql`
    SELECT size_bytes FROM bundles WHERE environment_id = ${environmentId} AND digest = ${digest} FOR KEY SHARE`);
  return row ?? null;
}

/**
 * Says which files an archive has, and returns those of them that the environment has not uploaded. The rows are locked
 * against removal before they are believed.
 */
export async function insertBundleFiles(
  tx: Tx,
  environmentId: Uuid<"env">,
  bundleDigest: Buffer,
  digests: readonly Buffer[],
): Promise<Buffer[]> {
  const rows = await tx.query<{ digest: Buffer }>(sql`
    WITH named AS (
      SELECT DISTINCT digest FROM unnest(${digests}::bytea[]) AS d (digest)
    ), held AS (
      SELECT b.digest FROM bundles b JOIN named n ON n.digest = b.digest
      WHERE b.environment_id = ${environmentId} ORDER BY b.digest FOR KEY SHARE OF b
    ), inserted AS (
      INSERT INTO bundle_files (environment_id, bundle_digest, digest)
      SELECT ${environmentId}::uuid, ${bundleDigest}::bytea, digest FROM held
      ON CONFLICT DO NOTHING
    )
    SELECT n.digest FROM named n WHERE NOT EXISTS (SELECT 1 FROM held h WHERE h.digest = n.digest)`);
  return rows.map(({ digest }) => digest);
}

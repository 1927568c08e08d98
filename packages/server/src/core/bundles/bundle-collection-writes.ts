import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { DueItems } from "../loop-failures/loop-failure.ts";

/** Held alone while it is decided which bundles go, and shared by those who announce an upload. Ends with the transaction. */
const COLLECTION_LOCK = 7_233_101_881;

export async function takeCollectionLock(tx: Tx): Promise<void> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(${COLLECTION_LOCK})`);
}

export async function shareCollectionLock(tx: Tx): Promise<void> {
  await tx.query(sql`SELECT pg_advisory_xact_lock_shared(${COLLECTION_LOCK})`);
}

export type BundleKey = { environmentId: Uuid<"env">; digest: Buffer };

const rowsOf = (keys: readonly BundleKey[]): Sql =>
  sql`unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.digest)}::bytea[]) AS k (environment_id, digest)`;

/**
 * Locks candidates that nobody touched since, with their bundles. A bundle that a deployment is being made of is locked by
 * that, and left for the next round. Of a candidate without a bundle the upload was not finished.
 */
export function lockBundleCandidates(
  tx: Tx,
  touchedBefore: number,
  { loop, limit, now }: DueItems,
): Promise<BundleKey[]> {
  return tx.query<BundleKey>(sql`
    WITH due AS (
      SELECT c.environment_id, c.digest FROM bundle_candidates c
      WHERE c.touched_at < ${timestamp(touchedBefore)}
        AND ${isNotSetAside(loop, sql`c.environment_id`, sql`encode(c.digest, 'hex')`, now)}
      ORDER BY c.touched_at LIMIT ${limit} FOR UPDATE OF c SKIP LOCKED
    ), held AS (
      SELECT b.environment_id, b.digest FROM bundles b
      JOIN due d ON d.environment_id = b.environment_id AND d.digest = b.digest
      ORDER BY b.environment_id, b.digest FOR UPDATE OF b SKIP LOCKED
    )
    SELECT d.environment_id, d.digest FROM due d
    WHERE EXISTS (SELECT 1 FROM held h WHERE h.environment_id = d.environment_id AND h.digest = d.digest)
      OR NOT EXISTS (SELECT 1 FROM bundles b WHERE b.environment_id = d.environment_id AND b.digest = d.digest)`);
}

/**
 * Of locked candidates, those that no deployment and no archive has. A statement of its own after the locking one, so that
 * it sees what was committed while the locks were waited for.
 */
export function listUnneededBundles(tx: Tx, locked: readonly BundleKey[]): Promise<BundleKey[]> {
  return tx.query<BundleKey>(sql`
    SELECT k.environment_id, k.digest FROM ${rowsOf(locked)}
    WHERE NOT EXISTS (
      SELECT 1 FROM deployments d WHERE d.environment_id = k.environment_id AND d.bundle_digest = k.digest
    ) AND NOT EXISTS (
      SELECT 1 FROM bundle_files f WHERE f.environment_id = k.environment_id AND f.digest = k.digest
    )`);
}

export async function deleteBundleCandidates(tx: Tx, keys: readonly BundleKey[]): Promise<void> {
  await tx.query(sql`
    DELETE FROM bundle_candidates c USING ${rowsOf(keys)}
    WHERE c.environment_id = k.environment_id AND c.digest = k.digest`);
}

/** Of archives that go: what they had may be needed by nobody now. */
export async function deleteBundleFiles(tx: Tx, archives: readonly BundleKey[], now: number): Promise<void> {
  await tx.query(sql`
    WITH gone AS (
      DELETE FROM bundle_files f USING ${rowsOf(archives)}
      WHERE f.environment_id = k.environment_id AND f.bundle_digest = k.digest
      RETURNING f.environment_id, f.digest
    )
    INSERT INTO bundle_candidates AS c (environment_id, digest, touched_at)
    SELECT DISTINCT environment_id, digest, ${timestamp(now)} FROM gone ORDER BY environment_id, digest
    ON CONFLICT (environment_id, digest) DO UPDATE SET touched_at = greatest(c.touched_at, excluded.touched_at)`);
}

export async function deleteBundles(tx: Tx, keys: readonly BundleKey[]): Promise<void> {
  await tx.query(sql`
    DELETE FROM bundles b USING ${rowsOf(keys)} WHERE b.environment_id = k.environment_id AND b.digest = k.digest`);
}

/** Of bundles that went, those whose bytes no environment has or is uploading: these bytes are to be removed. */
export function insertBundleRemovals(tx: Tx, keys: readonly BundleKey[], now: number): Promise<BundleKey[]> {
  return tx.query<BundleKey>(sql`
    INSERT INTO bundle_removals (digest, environment_id, begun_at)
    SELECT DISTINCT ON (k.digest) k.digest, k.environment_id, ${timestamp(now)} FROM ${rowsOf(keys)}
    WHERE NOT EXISTS (SELECT 1 FROM bundles b WHERE b.digest = k.digest)
      AND NOT EXISTS (SELECT 1 FROM bundle_candidates c WHERE c.digest = k.digest)
    ORDER BY k.digest
    RETURNING environment_id, digest`);
}

/** Removals that were begun and not ended. */
export function listBundleRemovals(db: Queryable, { loop, limit, now }: DueItems): Promise<BundleKey[]> {
  return db.query<BundleKey>(sql`
    SELECT r.environment_id, r.digest FROM bundle_removals r
    WHERE ${isNotSetAside(loop, sql`r.environment_id`, sql`encode(r.digest, 'hex')`, now)}
    ORDER BY r.digest LIMIT ${limit}`);
}

/** The bytes are gone. */
export async function deleteBundleRemoval(db: Queryable, digest: Buffer): Promise<void> {
  await db.query(sql`DELETE FROM bundle_removals WHERE digest = ${digest}`);
}

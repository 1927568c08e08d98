import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { DueItems } from "../loop-failures/loop-failure.ts";

/** An announcement so soon after another is not written: it would be kept no longer for it than a part of its grace. */
const ANNOUNCED_AGAIN_MS = 600_000;

/**
 * Announces an upload, so that the blob is not removed meanwhile. Null while its former bytes are being removed.
 *
 * @returns whether the bytes are there already.
 */
export async function announceBlob(
  db: Queryable,
  environmentId: Uuid<"env">,
  digest: Buffer,
  now: number,
): Promise<{ isStored: boolean } | null> {
  const [row] = await db.query<{ isStored: boolean }>(sql`
    WITH fresh AS (
      SELECT size_bytes IS NOT NULL AS is_stored FROM blobs
      WHERE environment_id = ${environmentId} AND digest = ${digest} AND removing_since IS NULL
        AND touched_at > ${timestamp(now - ANNOUNCED_AGAIN_MS)}
    ), announced AS (
      INSERT INTO blobs AS b (environment_id, digest, touched_at)
      SELECT ${environmentId}::uuid, ${digest}::bytea, ${timestamp(now)} WHERE NOT EXISTS (SELECT FROM fresh)
      ON CONFLICT (environment_id, digest)
        DO UPDATE SET touched_at = greatest(b.touched_at, excluded.touched_at) WHERE b.removing_since IS NULL
      RETURNING b.size_bytes IS NOT NULL AS is_stored
    )
    SELECT is_stored FROM fresh UNION ALL SELECT is_stored FROM announced`);
  return row ?? null;
}

/** False when the row went meanwhile: the upload took longer than anything is kept that nobody needs. */
export async function markBlobStored(
  db: Queryable,
  environmentId: Uuid<"env">,
  digest: Buffer,
  sizeBytes: number,
  now: number,
): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE blobs SET size_bytes = ${sizeBytes}, touched_at = greatest(touched_at, ${timestamp(now)})
    WHERE environment_id = ${environmentId} AND digest = ${digest} AND removing_since IS NULL
    RETURNING 1 AS stored`);
  return rows.length === 1;
}

/**
 * Says that a workspace needs the blobs, and returns those of them that are not there. `checksKnown`: also those that it
 * needs already, which may have been found to be missing since.
 *
 * The rows are locked before they are believed: a removal that has begun is waited for, and then the row is seen to be
 * going; one that begins later waits for this transaction and then finds the need.
 */
export async function insertWorkspaceBlobs(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  digests: readonly Buffer[],
  checksKnown: boolean,
): Promise<Buffer[]> {
  const rows = await tx.query<{ digest: Buffer }>(sql`
    WITH named AS (
      SELECT DISTINCT digest FROM unnest(${digests}::bytea[]) AS d (digest)
    ), needed AS (
      SELECT n.digest, w.digest IS NOT NULL AND (NOT ${checksKnown}::boolean OR NOT EXISTS (
        SELECT FROM blobs l WHERE l.environment_id = ${environmentId} AND l.digest = n.digest AND l.size_bytes IS NULL
      )) AS is_known
      FROM named n LEFT JOIN workspace_blobs w
        ON w.environment_id = ${environmentId} AND w.workspace_id = ${workspaceId} AND w.digest = n.digest
    ), held AS (
      SELECT b.digest FROM blobs b JOIN needed n ON n.digest = b.digest AND NOT n.is_known
      WHERE b.environment_id = ${environmentId} AND b.size_bytes IS NOT NULL AND b.removing_since IS NULL
      ORDER BY b.digest FOR SHARE OF b
    ), inserted AS (
      INSERT INTO workspace_blobs (environment_id, workspace_id, digest)
      SELECT ${environmentId}::uuid, ${workspaceId}::uuid, digest FROM held
      ON CONFLICT DO NOTHING
    )
    SELECT n.digest FROM needed n WHERE NOT n.is_known AND NOT EXISTS (SELECT 1 FROM held h WHERE h.digest = n.digest)`);
  return rows.map(({ digest }) => digest);
}

/** What a workspace, or some of its versions that are gone, needed may be needed by nobody now. Null: all of it. */
export async function deleteWorkspaceBlobs(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  digests: readonly Buffer[] | null,
  now: number,
): Promise<void> {
  await tx.query(sql`
    WITH gone AS (
      DELETE FROM workspace_blobs WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}
        AND (${digests}::bytea[] IS NULL OR digest = ANY(${digests}::bytea[]))
      RETURNING digest
    ), locked AS (
      SELECT b.digest FROM blobs b JOIN gone g ON g.digest = b.digest
      WHERE b.environment_id = ${environmentId} ORDER BY b.digest FOR NO KEY UPDATE OF b
    )
    UPDATE blobs b SET candidate = true, touched_at = greatest(b.touched_at, ${timestamp(now)})
    FROM locked l WHERE b.environment_id = ${environmentId} AND b.digest = l.digest`);
}

export type BlobKey = { environmentId: Uuid<"env">; digest: Buffer };

/** Locks blobs that nobody touched since, and may need; those that others have locked are left for the next round. */
export function lockCandidates(
  tx: Tx,
  touchedBefore: number,
  { loop, limit, now }: DueItems,
): Promise<BlobKey[]> {
  return tx.query<BlobKey>(sql`
    SELECT b.environment_id, b.digest FROM blobs b
    WHERE b.candidate AND b.touched_at < ${timestamp(touchedBefore)} AND b.removing_since IS NULL
      AND ${isNotSetAside(loop, sql`b.environment_id`, sql`encode(b.digest, 'hex')`, now)}
    ORDER BY b.touched_at LIMIT ${limit}
    FOR UPDATE OF b SKIP LOCKED`);
}

/**
 * Of locked candidates, marks those to be removed that no workspace, log and file of a session needs, and clears the others. A
 * statement of its own after the locking one, so that it sees the needs that were committed while the lock was waited for.
 */
export function markCandidates(tx: Tx, locked: readonly BlobKey[], now: number): Promise<BlobKey[]> {
  return tx.query<BlobKey>(sql`
    WITH checked AS (
      SELECT c.environment_id, c.digest, EXISTS (
        SELECT 1 FROM workspace_blobs w WHERE w.environment_id = c.environment_id AND w.digest = c.digest
      ) OR EXISTS (
        SELECT 1 FROM run_log_packs p WHERE p.environment_id = c.environment_id AND p.digest = c.digest
      ) OR EXISTS (
        SELECT 1 FROM session_files f WHERE f.environment_id = c.environment_id AND f.digest = c.digest
      ) AS is_needed
      FROM unnest(${locked.map((b) => b.environmentId)}::uuid[], ${locked.map((b) => b.digest)}::bytea[]) AS c (environment_id, digest)
    ), marked AS (
      UPDATE blobs b SET candidate = NOT c.is_needed,
        removing_since = CASE WHEN c.is_needed THEN NULL ELSE ${timestamp(now)} END
      FROM checked c WHERE b.environment_id = c.environment_id AND b.digest = c.digest
      RETURNING b.environment_id, b.digest, b.removing_since
    )
    SELECT environment_id, digest FROM marked WHERE removing_since IS NOT NULL`);
}

/** Removals that were begun and not ended. */
export function listRemovals(db: Queryable, { loop, limit, now }: DueItems): Promise<BlobKey[]> {
  return db.query<BlobKey>(sql`
    SELECT b.environment_id, b.digest FROM blobs b
    WHERE b.candidate AND b.removing_since IS NOT NULL
      AND ${isNotSetAside(loop, sql`b.environment_id`, sql`encode(b.digest, 'hex')`, now)}
    ORDER BY b.touched_at LIMIT ${limit}`);
}

/** The bytes are gone. */
export async function deleteRemovedBlob(db: Queryable, { environmentId, digest }: BlobKey): Promise<void> {
  await db.query(sql`
    DELETE FROM blobs WHERE environment_id = ${environmentId} AND digest = ${digest} AND removing_since IS NOT NULL`);
}

import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { FileRow } from "./session-file.ts";

/**
 * Adds a file to a locked session. The blob's row is locked before it is believed: a removal that has begun is seen, and one that
 * begins later waits for this transaction and then finds the need. The blob is no candidate for removal any more, so that also a
 * server that does not know of files leaves it.
 *
 * @returns false when the bytes are not there, or are being removed.
 */
export async function insertSessionFile(tx: Tx, file: FileRow): Promise<boolean> {
  const rows = await tx.query(sql`
    WITH held AS (
      UPDATE blobs SET candidate = false
      WHERE environment_id = ${file.environmentId} AND digest = ${file.digest}
        AND size_bytes IS NOT NULL AND removing_since IS NULL
      RETURNING environment_id
    )
    INSERT INTO session_files (environment_id, session_id, id, digest, size_bytes, media_type, name, created_at)
    SELECT environment_id, ${file.sessionId}::uuid, ${file.id}::uuid, ${file.digest}::bytea, ${file.sizeBytes}::bigint,
      ${file.mediaType}::text, ${file.name}::text, ${timestamp(file.createdAt)} FROM held
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

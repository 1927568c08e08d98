import { PUBLIC_RUN_PERMISSION } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { PublicAccess } from "./public-access.ts";

export type NewPublicAccess = PublicAccess & { digest: Buffer; expiresAt: number; createdAt: number };

export async function insertPublicAccess(tx: Tx, access: NewPublicAccess): Promise<void> {
  const { runId, sessionId, streamId, streamIds, correlationId } = columnsOf(access);
  await tx.query(sql`
    INSERT INTO public_access_tokens (digest, environment_id, id, permission, run_id, session_id, stream_id, stream_ids, correlation_id,
      expires_at, max_uses, created_at)
    VALUES (${access.digest}, ${access.environmentId}, ${access.id}, ${access.permission}, ${runId}, ${sessionId}, ${streamId},
      ${streamIds}::uuid[], ${correlationId}, ${timestamp(access.expiresAt)}, ${access.maxUses}, ${timestamp(access.createdAt)})`);
}

function columnsOf(access: PublicAccess) {
  if (access.permission === PUBLIC_RUN_PERMISSION)
    return { runId: access.runId, sessionId: null, streamId: null, streamIds: null, correlationId: null };
  const { permission, sessionId, streamIds, correlationId } = access;
  const isOfMany = permission === "session.chat";
  return {
    ...{ runId: null, sessionId, correlationId },
    streamId: isOfMany ? null : (streamIds[0] ?? null),
    streamIds: isOfMany ? streamIds : null,
  };
}

/**
 * Counts a use; false when all are spent. Of callers at the same time each waits for the row and looks at the count
 * again, so exactly `max_uses` succeed.
 */
export async function consumeUse(db: Queryable, { environmentId, id }: PublicAccess): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE public_access_tokens SET uses = uses + 1
    WHERE environment_id = ${environmentId} AND id = ${id} AND uses < max_uses
    RETURNING 1 AS counted`);
  return rows.length === 1;
}

/** Gives a counted use back: what it was counted for was refused and had no effect. */
export async function returnUse(db: Queryable, { environmentId, id }: PublicAccess): Promise<void> {
  await db.query(sql`
    UPDATE public_access_tokens SET uses = uses - 1 WHERE environment_id = ${environmentId} AND id = ${id} AND uses > 0`);
}

const PURGE_LIMIT = 5_000;

/** Drops tokens past their time, a bounded number at once. @returns whether there may be more. */
export async function deleteExpiredPublicAccess(tx: Tx, now: number): Promise<boolean> {
  const rows = await tx.query(sql`
    DELETE FROM public_access_tokens t
    USING (
      SELECT digest FROM public_access_tokens
      WHERE expires_at <= ${timestamp(now)} ORDER BY expires_at LIMIT ${PURGE_LIMIT}
      FOR UPDATE SKIP LOCKED
    ) old
    WHERE t.digest = old.digest
    RETURNING 1 AS dropped`);
  return rows.length === PURGE_LIMIT;
}

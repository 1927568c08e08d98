import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

// Servers purge at the same time: each skips the rows that another is at. A statement removes so many; true: there may be
// more.
const BATCH = 1_000;

export async function deleteExpiredTokens(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM oauth_tokens WHERE digest IN (
      SELECT digest FROM oauth_tokens WHERE expires_at < ${timestamp(now)}
      ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

/** With their tokens. */
export async function deleteExpiredGrants(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM oauth_grants WHERE id IN (
      SELECT id FROM oauth_grants WHERE expires_at < ${timestamp(now)}
      ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

/** Whoever approves one keeps it first, so that none is dropped under a grant that is being made. */
export async function deleteUnusedClients(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM oauth_clients WHERE id IN (
      SELECT id FROM oauth_clients c
      WHERE kept_until < ${timestamp(now)} AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id)
      ORDER BY kept_until LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

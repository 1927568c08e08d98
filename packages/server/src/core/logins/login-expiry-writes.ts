import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

// Servers purge at the same time: each skips the rows that another is at. A statement removes so many; true: there may be
// more.
const BATCH = 1_000;

export async function deleteExpiredLinks(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM magic_links WHERE digest IN (
      SELECT digest FROM magic_links WHERE expires_at < ${timestamp(now)}
      ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

export async function deleteExpiredDevices(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM device_authorizations WHERE digest IN (
      SELECT digest FROM device_authorizations WHERE expires_at < ${timestamp(now)}
      ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

export async function deleteExpiredFailures(db: Queryable, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM user_code_failures WHERE user_id IN (
      SELECT user_id FROM user_code_failures WHERE window_ends_at < ${timestamp(now)}
      ORDER BY window_ends_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

export async function deleteExpiredSessions(db: Queryable, before: number): Promise<boolean> {
  const rows = await db.query(sql`
    DELETE FROM user_sessions WHERE digest IN (
      SELECT digest FROM user_sessions WHERE expires_at < ${timestamp(before)}
      ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`);
  return rows.length === BATCH;
}

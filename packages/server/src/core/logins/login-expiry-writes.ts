import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

// Servers purge at the same time: each skips the rows that another is at.

export async function deleteExpiredLinks(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    DELETE FROM magic_links WHERE digest IN (
      SELECT digest FROM magic_links WHERE expires_at < to_timestamp(${now}::float8 / 1000)
      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`);
}

export async function deleteExpiredDevices(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    DELETE FROM device_authorizations WHERE digest IN (
      SELECT digest FROM device_authorizations WHERE expires_at < to_timestamp(${now}::float8 / 1000)
      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`);
}

export async function deleteExpiredFailures(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    DELETE FROM user_code_failures WHERE user_id IN (
      SELECT user_id FROM user_code_failures WHERE window_ends_at < to_timestamp(${now}::float8 / 1000)
      ORDER BY window_ends_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`);
}

export async function deleteExpiredSessions(db: Queryable, before: number): Promise<void> {
  await db.query(sql`
    DELETE FROM user_sessions WHERE digest IN (
      SELECT digest FROM user_sessions WHERE expires_at < to_timestamp(${before}::float8 / 1000)
      ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`);
}

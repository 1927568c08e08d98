import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

const HOUR_MS = 3_600_000;

/** When each key was last used. A key's row is written at most once a minute, however many servers noted it. */
export async function updateLastUsed(db: Queryable, usedAt: ReadonlyMap<Uuid<"key">, number>): Promise<void> {
  await db.query(sql`
    UPDATE api_keys k SET last_used_at = to_timestamp(used.at / 1000)
    FROM unnest(${[...usedAt.keys()]}::uuid[], ${[...usedAt.values()]}::float8[]) AS used (id, at)
    WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < to_timestamp(used.at / 1000) - interval '1 minute')`);
}

/**
 * When each grant was last used, and by tokens of which generation. A row is written at most once a minute, and at the first use of
 * a generation.
 */
export async function updateGrantUse(
  db: Queryable,
  used: ReadonlyMap<Uuid<"ogr">, { at: number; generation: number }>,
): Promise<void> {
  const uses = [...used.values()];
  await db.query(sql`
    UPDATE oauth_grants g
    SET last_used_at = GREATEST(g.last_used_at, to_timestamp(used.at / 1000)),
      used_generation = GREATEST(g.used_generation, LEAST(used.generation, g.generation))
    FROM unnest(${[...used.keys()]}::uuid[], ${uses.map(({ at }) => at)}::float8[],
      ${uses.map(({ generation }) => generation)}::integer[]) AS used (id, at, generation)
    WHERE g.id = used.id AND (g.used_generation < LEAST(used.generation, g.generation) OR g.last_used_at IS NULL
      OR g.last_used_at < to_timestamp(used.at / 1000) - interval '1 minute')`);
}

/** Sessions that were used end their time later. A session's row is written at most once an hour. */
export async function extendSessions(
  db: Queryable,
  sessionIds: readonly Uuid<"usess">[],
  sessionMs: number,
  now: number,
): Promise<void> {
  await db.query(sql`
    UPDATE user_sessions SET expires_at = ${timestamp(now + sessionMs)}
    WHERE id = ANY(${sessionIds}::uuid[]) AND revoked_at IS NULL
      AND expires_at > ${timestamp(now)}
      AND expires_at < ${timestamp(now + sessionMs - HOUR_MS)}`);
}

/** Is sent to all servers when the transaction commits. */
export async function notifyAtCommit(tx: Tx, channel: string, message: string): Promise<void> {
  await tx.query(sql`SELECT pg_notify(${channel}, ${message})`);
}

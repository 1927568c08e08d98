import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type KeyToReserve = {
  environmentId: Uuid<"env">;
  scope: string;
  key: string;
  requestDigest: Buffer;
  expiresAt: number;
  now: number;
};

/**
 * Takes the key for this transaction, whose answer is written before the commit; false when another request holds it.
 *
 * The insert waits for a transaction that is inserting the same key, so of all concurrent first requests, on any replica,
 * exactly one goes on and the others find its answer. A key past its time is taken over.
 */
export async function reserveKey(
  tx: Tx,
  { environmentId, scope, key, requestDigest, expiresAt, now }: KeyToReserve,
): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO idempotency_keys AS t (environment_id, scope, key, request_digest, response_status, response_body, expires_at)
    VALUES (${environmentId}, ${scope}, ${key}, ${requestDigest}, 0, '', ${timestamp(expiresAt)})
    ON CONFLICT (environment_id, scope, key) DO UPDATE
      SET request_digest = excluded.request_digest, resource_id = NULL, response_status = 0, response_body = '',
        expires_at = excluded.expires_at
      WHERE t.expires_at <= ${timestamp(now)}
    RETURNING 1 AS taken`);
  return rows.length === 1;
}

/**
 * The same for many keys, which are distinct, in one order everywhere. @returns those that were taken, by `keyId`.
 */
export async function reserveKeys(
  tx: Tx,
  keys: readonly Omit<KeyToReserve, "now">[],
  now: number,
): Promise<Set<string>> {
  const rows = await tx.query<KeyName>(sql`
    INSERT INTO idempotency_keys AS t (environment_id, scope, key, request_digest, response_status, response_body, expires_at)
    SELECT environment_id, scope, key, digest, 0, '', to_timestamp(expires_at / 1000)
    FROM unnest(
      ${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.scope)}::text[], ${keys.map((key) => key.key)}::text[],
      ${keys.map((key) => key.requestDigest)}::bytea[], ${keys.map((key) => key.expiresAt)}::float8[]
    ) AS k (environment_id, scope, key, digest, expires_at)
    ORDER BY environment_id, scope, key
    ON CONFLICT (environment_id, scope, key) DO UPDATE
      SET request_digest = excluded.request_digest, resource_id = NULL, response_status = 0, response_body = '',
        expires_at = excluded.expires_at
      WHERE t.expires_at <= ${timestamp(now)}
    RETURNING environment_id, scope, key`);
  return new Set(rows.map(keyId));
}

export type KeyName = { environmentId: Uuid<"env">; scope: string; key: string };

export const keyId = ({ environmentId, scope, key }: KeyName): string => `${environmentId}\n${scope}\n${key}`;

/** Writes the answers of keys that this transaction has taken; gives a key without an answer back. */
export async function settleKeys(
  tx: Tx,
  keys: readonly (KeyName & { answer: { status: number; body: string } | null })[],
): Promise<void> {
  await tx.send(sql`
    WITH settled AS (
      SELECT * FROM unnest(
        ${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.scope)}::text[], ${keys.map((key) => key.key)}::text[],
        ${keys.map((key) => key.answer?.status ?? null)}::smallint[], ${keys.map((key) => key.answer?.body ?? null)}::text[]
      ) AS s (environment_id, scope, key, status, body)
    ), answered AS (
      UPDATE idempotency_keys t SET response_status = s.status, response_body = s.body
      FROM settled s
      WHERE s.body IS NOT NULL AND t.environment_id = s.environment_id AND t.scope = s.scope AND t.key = s.key
    )
    DELETE FROM idempotency_keys t USING settled s
    WHERE s.body IS NULL AND t.environment_id = s.environment_id AND t.scope = s.scope AND t.key = s.key`);
}

export async function storeAnswer(
  tx: Tx,
  environmentId: Uuid<"env">,
  scope: string,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  await tx.send(sql`
    UPDATE idempotency_keys SET response_status = ${answer.status}, response_body = ${answer.body}
    WHERE environment_id = ${environmentId} AND scope = ${scope} AND key = ${key}`);
}

const PURGE_LIMIT = 5_000;

/** Drops keys past their time, a bounded number at once. @returns whether there may be more. */
export async function deleteExpiredKeys(tx: Tx, now: number): Promise<boolean> {
  const rows = await tx.query(sql`
    DELETE FROM idempotency_keys t
    USING (
      SELECT environment_id, scope, key FROM idempotency_keys
      WHERE expires_at <= ${timestamp(now)} ORDER BY expires_at LIMIT ${PURGE_LIMIT}
      FOR UPDATE SKIP LOCKED
    ) old
    WHERE t.environment_id = old.environment_id AND t.scope = old.scope AND t.key = old.key
    RETURNING 1 AS dropped`);
  return rows.length === PURGE_LIMIT;
}

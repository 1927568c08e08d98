import { arrayLiteral } from "../../db/array-literal.ts";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Completer } from "./token.ts";
import { TOKEN_COLUMNS, type TokenRow } from "./token-reads.ts";

export type TokenInsert = {
  environmentId: string;
  projectId: string;
  id: string;
  timeoutAt: number;
  /** JSON text. */
  metadata: string | null;
  tags: readonly string[];
  runId: string | null;
  publicDigest: Buffer;
  callbackDigest: Buffer;
  createdAt: number;
};

/** Inserts pending tokens. */
export async function insertTokens(tx: Tx, tokens: readonly TokenInsert[]): Promise<void> {
  const column = <T>(pick: (token: TokenInsert) => T): T[] => tokens.map(pick);
  await tx.query(sql`
    INSERT INTO tokens (environment_id, id, project_id, status, timeout_at, metadata, tags, run_id, public_digest, callback_digest,
      created_at, updated_at)
    SELECT environment_id, id, project_id, 'pending', to_timestamp(timeout_at / 1000), metadata, tags::text[], run_id, public_digest,
      callback_digest, to_timestamp(created_at / 1000), to_timestamp(created_at / 1000)
    FROM unnest(
      ${column((token) => token.environmentId)}::uuid[], ${column((token) => token.id)}::uuid[],
      ${column((token) => token.projectId)}::uuid[], ${column((token) => token.timeoutAt)}::float8[],
      ${column((token) => token.metadata)}::text[],
      ${column(({ tags }) => (tags.length === 0 ? null : arrayLiteral(tags)))}::text[],
      ${column((token) => token.runId)}::uuid[], ${column((token) => token.publicDigest)}::bytea[],
      ${column((token) => token.callbackDigest)}::bytea[], ${column((token) => token.createdAt)}::float8[]
    ) AS i (environment_id, id, project_id, timeout_at, metadata, tags, run_id, public_digest, callback_digest, created_at)`);
}

export type Completion = {
  environmentId: string;
  tokenId: string;
  /** JSON text. */
  data: string;
  /** SHA-256 of its canonical form. */
  dataDigest: Buffer;
  by: Completer;
  now: number;
};

/**
 * Completes a token that is pending and in time; null when it is not. Of any number of callers at any number of servers
 * one finds it pending: the others wait for its row and look at the state again, which is what PostgreSQL does with the
 * condition of an UPDATE under read committed.
 */
export async function markCompleted(
  tx: Tx,
  { environmentId, tokenId, data, dataDigest, by, now }: Completion,
): Promise<TokenRow | null> {
  const [row] = await tx.query<TokenRow>(sql`
    UPDATE tokens t SET status = 'completed', data = ${data}, data_digest = ${dataDigest}, completed_by_kind = ${by.kind},
      completed_by_id = ${by.id}, completed_at = to_timestamp(${now}::float8 / 1000), updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId} AND t.status = 'pending'
      AND t.timeout_at > to_timestamp(${now}::float8 / 1000)
    RETURNING ${TOKEN_COLUMNS}`);
  return row ?? null;
}

/** Cancels a token that is pending and in time; null when it is not. */
export async function markCancelled(
  tx: Tx,
  environmentId: string,
  tokenId: string,
  now: number,
): Promise<TokenRow | null> {
  const [row] = await tx.query<TokenRow>(sql`
    UPDATE tokens t SET status = 'cancelled', updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId} AND t.status = 'pending'
      AND t.timeout_at > to_timestamp(${now}::float8 / 1000)
    RETURNING ${TOKEN_COLUMNS}`);
  return row ?? null;
}

/** Expires one pending token whose time has run out. @returns whether it was this call. */
export async function markExpired(
  tx: Tx,
  environmentId: string,
  tokenId: string,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE tokens SET status = 'expired', updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${tokenId} AND status = 'pending'
      AND timeout_at <= to_timestamp(${now}::float8 / 1000)
    RETURNING 1 AS expired`);
  return rows.length === 1;
}

/** Expires pending tokens whose time has run out, oldest first. Rows in other hands are being settled, or left for later. */
export function markOverdueExpired(
  tx: Tx,
  now: number,
  limit: number,
): Promise<{ environmentId: string; id: string }[]> {
  return tx.query(sql`
    UPDATE tokens t SET status = 'expired', updated_at = to_timestamp(${now}::float8 / 1000)
    FROM (
      SELECT environment_id, id FROM tokens
      WHERE status = 'pending' AND timeout_at <= to_timestamp(${now}::float8 / 1000)
      ORDER BY timeout_at LIMIT ${limit}
      FOR UPDATE SKIP LOCKED
    ) overdue
    WHERE t.environment_id = overdue.environment_id AND t.id = overdue.id
    RETURNING t.environment_id AS "environmentId", t.id`);
}

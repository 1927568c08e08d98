import type { Uuid } from "@keelson/contract";
import { arrayLiteral } from "../../db/array-literal.ts";
import { lockByKey } from "../../db/join-by-key.ts";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Completer } from "./token.ts";
import { TOKEN_COLUMNS, type TokenKey, type TokenRow } from "./token-reads.ts";

export type TokenInsert = {
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  id: Uuid<"tok">;
  timeoutAt: number;
  /** JSON text. */
  metadata: string | null;
  tags: readonly string[];
  runId: Uuid<"run"> | null;
  publicDigest: Buffer;
  callbackDigest: Buffer;
  createdAt: number;
};

/** Each tag of each token, in the order of lists. */
const AND_TAGS = sql`RETURNING environment_id, id, tags
    )
    INSERT INTO token_tags (environment_id, tag, token_id)
    SELECT environment_id, unnest(tags), id FROM inserted ON CONFLICT DO NOTHING`;

/** Inserts pending tokens. */
export async function insertTokens(tx: Tx, tokens: readonly TokenInsert[]): Promise<void> {
  const column = <T>(pick: (token: TokenInsert) => T): T[] => tokens.map(pick);
  const isTagged = tokens.some(({ tags }) => tags.length > 0);
  await tx.send(sql`
    ${isTagged ? sql`WITH inserted AS (` : sql``}
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
    ) AS i (environment_id, id, project_id, timeout_at, metadata, tags, run_id, public_digest, callback_digest, created_at)
    ${isTagged ? AND_TAGS : sql``}`);
}

export type Completion = {
  environmentId: Uuid<"env">;
  tokenId: Uuid<"tok">;
  /** JSON text, and the SHA-256 of its canonical form. */
  data: { text: string; digest: Buffer };
  by: Completer;
};

/**
 * Completes those tokens that are pending and in time. Of any number of callers at any number of servers one finds a token
 * pending: the others wait for its row and look at the state again, which is what PostgreSQL does with the condition of a
 * locking read under read committed. The rows are locked in the order that every transaction keeps. Each is looked up by its key
 * and updated at its place, whatever the planner knows of the table; a token that is pending was never changed, so it has not moved.
 *
 * @param completions each of another token.
 */
export const markCompleted = (tx: Tx, completions: readonly Completion[], now: number): Promise<TokenRow[]> =>
  tx.query<TokenRow>(sql`
    WITH pending AS (
      SELECT p.place, c.data, c.data_digest, c.by_kind, c.by_id
      FROM (SELECT * FROM unnest(
        ${completions.map(({ environmentId }) => environmentId)}::uuid[], ${completions.map(({ tokenId }) => tokenId)}::uuid[],
        ${completions.map(({ data }) => data.text)}::text[], ${completions.map(({ data }) => data.digest)}::bytea[],
        ${completions.map(({ by }) => by.kind)}::text[], ${completions.map(({ by }) => by.id)}::uuid[]
      ) AS n (environment_id, id, data, data_digest, by_kind, by_id) ORDER BY environment_id, id) c
      ${lockByKey(
        "FOR NO KEY UPDATE",
        "tokens",
        "p",
        // As one condition no index of what is pending serves it: the planner would read that for each of them.
        sql`p.environment_id = c.environment_id AND p.id = c.id
          AND CASE WHEN p.status = 'pending' THEN p.timeout_at > ${timestamp(now)} END`,
        "ctid AS place",
      )}
    )
    UPDATE tokens t SET status = 'completed', data = p.data, data_digest = p.data_digest, completed_by_kind = p.by_kind,
      completed_by_id = p.by_id, completed_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    FROM pending p WHERE t.ctid = p.place
    RETURNING ${TOKEN_COLUMNS}`);

/** Cancels a token that is pending and in time; null when it is not. */
export async function markCancelled(
  tx: Tx,
  environmentId: Uuid<"env">,
  tokenId: Uuid<"tok">,
  now: number,
): Promise<TokenRow | null> {
  const [row] = await tx.query<TokenRow>(sql`
    UPDATE tokens t SET status = 'cancelled', updated_at = ${timestamp(now)}
    WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId} AND t.status = 'pending'
      AND t.timeout_at > ${timestamp(now)}
    RETURNING ${TOKEN_COLUMNS}`);
  return row ?? null;
}

/** Expires one pending token whose time has run out. @returns whether it was this call. */
export async function markExpired(
  tx: Tx,
  environmentId: Uuid<"env">,
  tokenId: Uuid<"tok">,
  now: number,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE tokens SET status = 'expired', updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${tokenId} AND status = 'pending'
      AND timeout_at <= ${timestamp(now)}
    RETURNING 1 AS expired`);
  return rows.length === 1;
}

/** Of locked tokens that are pending. */
export async function markLockedExpired(tx: Tx, tokens: readonly TokenKey[], now: number): Promise<void> {
  await tx.send(sql`
    UPDATE tokens t SET status = 'expired', updated_at = ${timestamp(now)}
    FROM unnest(${tokens.map((token) => token.environmentId)}::uuid[], ${tokens.map((token) => token.id)}::uuid[]) AS k (environment_id, id)
    WHERE t.environment_id = k.environment_id AND t.id = k.id`);
}

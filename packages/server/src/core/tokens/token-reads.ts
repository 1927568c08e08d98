import type { TokenCompleterKind, TokenStatus } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";

/** A token without its secrets, of which only digests are stored. JSON is text, times are milliseconds. */
export type TokenRow = {
  id: string;
  environmentId: string;
  projectId: string;
  status: TokenStatus;
  /** Null until it is completed. */
  data: string | null;
  timeoutAt: number;
  metadata: string | null;
  tags: string[] | null;
  runId: string | null;
  completedAt: number | null;
  completedByKind: TokenCompleterKind | null;
  completedById: string | null;
  createdAt: number;
  updatedAt: number;
};

export const TOKEN_COLUMNS = rawSql(`
  t.id, t.environment_id AS "environmentId", t.project_id AS "projectId", t.status, t.data, t.timeout_at AS "timeoutAt",
  t.metadata, t.tags, t.run_id AS "runId", t.completed_at AS "completedAt", t.completed_by_kind AS "completedByKind",
  t.completed_by_id AS "completedById", t.created_at AS "createdAt", t.updated_at AS "updatedAt"`);

export async function findToken(
  db: Queryable,
  environmentId: string,
  tokenId: string,
): Promise<TokenRow | null> {
  const [row] = await db.query<TokenRow>(sql`
    SELECT ${TOKEN_COLUMNS} FROM tokens t WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId}`);
  return row ?? null;
}

/** The token, and whether its stored completion has this digest. */
export async function findTokenWithSameness(
  db: Queryable,
  environmentId: string,
  tokenId: string,
  dataDigest: Buffer,
): Promise<(TokenRow & { isSame: boolean }) | null> {
  const [row] = await db.query<TokenRow & { isSame: boolean }>(sql`
    SELECT ${TOKEN_COLUMNS}, coalesce(t.data_digest = ${dataDigest}, false) AS "isSame"
    FROM tokens t WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId}`);
  return row ?? null;
}

export type TokenFilter = {
  statuses: readonly TokenStatus[];
  runId: string | null;
  tags: readonly string[];
  isOldestFirst: boolean;
};

/** In the order that the filter says, after the token `after`. Ids are UUIDv7, so the key is the order of creation. */
export function listTokens(
  db: Queryable,
  environmentId: string,
  filter: TokenFilter,
  after: string | null,
  limit: number,
): Promise<TokenRow[]> {
  const conditions = [sql`t.environment_id = ${environmentId}`];
  if (after !== null) conditions.push(filter.isOldestFirst ? sql`t.id > ${after}` : sql`t.id < ${after}`);
  // One status, which is the usual question, is read from its index in the list's order.
  if (filter.statuses.length === 1) conditions.push(sql`t.status = ${filter.statuses[0]}`);
  if (filter.statuses.length > 1) conditions.push(sql`t.status = ANY(${filter.statuses}::text[])`);
  if (filter.runId !== null) conditions.push(sql`t.run_id = ${filter.runId}`);
  if (filter.tags.length > 0) conditions.push(sql`t.tags @> ${filter.tags}::text[]`);
  const order = filter.isOldestFirst ? sql`t.id` : sql`t.id DESC`;
  return db.query<TokenRow>(sql`
    SELECT ${TOKEN_COLUMNS} FROM tokens t WHERE ${joinSql(conditions, " AND ")} ORDER BY ${order} LIMIT ${limit}`);
}

/**
 * The environment of a token that a provider names with its callback secret; null for a wrong id and for a wrong secret,
 * which are one look-up and one answer. What is compared are digests, so the time of the comparison tells nothing.
 */
export async function findCallbackEnvironment(
  db: Queryable,
  tokenId: string,
  callbackDigest: Buffer,
): Promise<string | null> {
  const [row] = await db.query<{ environmentId: string }>(sql`
    SELECT environment_id AS "environmentId" FROM tokens WHERE id = ${tokenId} AND callback_digest = ${callbackDigest}`);
  return row?.environmentId ?? null;
}

/** A condition: time has run out for tokens that nobody has marked. */
export const hasOverdueTokens = (now: number): Sql => sql`
  EXISTS (SELECT FROM tokens t WHERE t.status = 'pending' AND t.timeout_at <= to_timestamp(${now}::float8 / 1000))`;

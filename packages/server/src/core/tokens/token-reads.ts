import type { TokenCompleterKind, TokenStatus, Uuid } from "@keelson/contract";
import {
  conditionsOfMatches,
  matchOf,
  selectPage,
  sourceOf,
  waysBy,
  waysByAny,
  waysByTag,
  type Source,
} from "../../db/filtered-page.ts";
import { NEWEST_FIRST, OLDEST_FIRST } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

/** A token without its secrets, of which only digests are stored. JSON is text, times are milliseconds. */
export type TokenRow = {
  id: Uuid<"tok">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  status: TokenStatus;
  /** Null until it is completed. */
  data: string | null;
  timeoutAt: number;
  metadata: string | null;
  tags: string[] | null;
  runId: Uuid<"run"> | null;
  completedAt: number | null;
  completedByKind: TokenCompleterKind | null;
  completedById: string | null;
  createdAt: number;
  updatedAt: number;
};

export const TOKEN_COLUMNS = rawSql(`
  t.id, t.environment_id, t.project_id, t.status, t.data, t.timeout_at,
  t.metadata, t.tags, t.run_id, t.completed_at, t.completed_by_kind,
  t.completed_by_id, t.created_at, t.updated_at`);

export async function findToken(
  db: Queryable,
  environmentId: Uuid<"env">,
  tokenId: Uuid<"tok">,
): Promise<TokenRow | null> {
  const [row] = await db.query<TokenRow>(sql`
    SELECT ${TOKEN_COLUMNS} FROM tokens t WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId}`);
  return row ?? null;
}

/** The open token that the run waits for; the first of them, if there are several. */
export async function findAwaitedToken(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<TokenRow | null> {
  const [row] = await db.query<TokenRow>(sql`
    SELECT ${TOKEN_COLUMNS} FROM run_waits w
    JOIN tokens t ON t.environment_id = w.environment_id AND t.id = w.token_id AND t.status = 'pending'
    WHERE w.environment_id = ${environmentId} AND w.run_id = ${runId} AND w.status = 'pending'
    ORDER BY w.position LIMIT 1`);
  return row ?? null;
}

/** The token, and whether its stored completion has this digest. */
export async function findTokenWithSameness(
  db: Queryable,
  environmentId: Uuid<"env">,
  tokenId: Uuid<"tok">,
  dataDigest: Buffer,
): Promise<(TokenRow & { isSame: boolean }) | null> {
  const [row] = await db.query<TokenRow & { isSame: boolean }>(sql`
    SELECT ${TOKEN_COLUMNS}, coalesce(t.data_digest = ${dataDigest}, false) AS is_same
    FROM tokens t WHERE t.environment_id = ${environmentId} AND t.id = ${tokenId}`);
  return row ?? null;
}

export type TokenFilter = {
  statuses: readonly TokenStatus[];
  runId: Uuid<"run"> | null;
  tags: readonly string[];
  isOldestFirst: boolean;
};

/** In the order that the filter says, after the token `after`. Ids are UUIDv7, so the key is the order of creation. */
export async function listTokens(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: TokenFilter,
  after: string | null,
  limit: number,
): Promise<TokenRow[]> {
  const { isOldestFirst, statuses, tags } = filter;
  const matches = matchOf("t.run_id", filter.runId);
  const ways = [
    ...waysBy(ALL, matches),
    ...waysByAny(ALL, "t.status", statuses),
    ...waysByTag(tags, { table: "token_tags", of: "tokens", id: "token_id", alias: "t" }),
  ];
  const conditionsOf = (source: Source): Sql[] => [
    ...conditionsOfMatches(matches, source),
    ...(statuses.length === 0 ? [] : [sql`t.status = ANY(${statuses}::text[])`]),
    ...(tags.length === 0 ? [] : [sql`t.tags @> ${tags}::text[]`]),
  ];
  const place = { environmentId, [isOldestFirst ? "after" : "before"]: after, isOldestFirst };
  const page = await selectPage(db, { all: ALL, ways, conditionsOf }, place, limit);
  return db.query<TokenRow>(sql`
    SELECT ${TOKEN_COLUMNS} FROM (${page}) page, tokens t
    WHERE t.environment_id = ${environmentId} AND t.id = page.id
    ORDER BY page.${isOldestFirst ? OLDEST_FIRST : NEWEST_FIRST}`);
}

const ALL = sourceOf("tokens", "t");

/**
 * The environment of a token that a provider names with its callback secret; null for a wrong id and for a wrong secret,
 * which are one look-up and one answer. What is compared are digests, so the time of the comparison tells nothing.
 */
export async function findCallbackEnvironment(
  db: Queryable,
  tokenId: Uuid<"tok">,
  callbackDigest: Buffer,
): Promise<Uuid<"env"> | null> {
  const [row] = await db.query<{ environmentId: Uuid<"env"> }>(sql`
    SELECT environment_id FROM tokens WHERE id = ${tokenId} AND callback_digest = ${callbackDigest}`);
  return row?.environmentId ?? null;
}

export type TokenKey = { environmentId: Uuid<"env">; id: Uuid<"tok"> };

const overdue = (now: number): Sql => sql`
  t.status = 'pending' AND t.timeout_at <= ${timestamp(now)}
  AND ${isNotSetAside("expire-tokens", sql`t.environment_id`, sql`t.id`, now)}`;

/** A condition: time has run out for tokens that nobody has marked. */
export const hasOverdueTokens = (now: number): Sql =>
  sql`EXISTS (SELECT FROM tokens t WHERE ${overdue(now)})`;

/** Those that another transaction holds are left for the next round. */
export const lockOverdueTokens = (tx: Tx, now: number, limit: number): Promise<TokenKey[]> =>
  tx.query<TokenKey>(sql`
    SELECT t.environment_id, t.id FROM tokens t
    WHERE ${overdue(now)} ORDER BY t.timeout_at LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);

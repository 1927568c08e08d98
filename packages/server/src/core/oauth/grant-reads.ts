import type { OauthAccess, Role, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** A grant that is locked, with where it is for. */
export type GrantRow = {
  id: Uuid<"ogr">;
  clientId: Uuid<"ocl">;
  userId: Uuid<"user">;
  organizationId: Uuid<"org">;
  environmentId: Uuid<"env">;
  access: OauthAccess;
  codeChallenge: string | null;
  redirectUri: string | null;
  generation: number;
  usedGeneration: number;
  generationBeganAt: number | null;
  expiresAt: number;
  revokedAt: number | null;
  /** What the person is there now; null: no member any more, or suspended. */
  role: Role | null;
};

const LOCKED_COLUMNS = rawSql(
  `g.id, g.client_id, g.user_id, p.organization_id, g.environment_id, g.access, g.code_challenge, g.redirect_uri,
   g.generation, g.used_generation, g.generation_began_at, g.expires_at, g.revoked_at, m.role`,
);

/** With its person's present part in the organization, if they have one. */
const FROM = rawSql(
  `oauth_grants g
   JOIN environments v ON v.id = g.environment_id
   JOIN projects p ON p.id = v.project_id
   JOIN users u ON u.id = g.user_id
   LEFT JOIN members m ON m.organization_id = p.organization_id AND m.user_id = g.user_id AND u.suspended_at IS NULL`,
);

/** Of two that come with the same code, or with the same token, the second sees what the first did. */
const lockedWhere = (condition: Sql): Sql =>
  sql`SELECT ${LOCKED_COLUMNS} FROM ${FROM} WHERE ${condition} FOR UPDATE OF g`;

export async function lockGrantByCode(tx: Tx, codeDigest: Buffer): Promise<GrantRow | null> {
  const [row] = await tx.query<GrantRow>(lockedWhere(sql`g.code_digest = ${codeDigest}`));
  return row ?? null;
}

export async function lockGrant(tx: Tx, grantId: Uuid<"ogr">): Promise<GrantRow | null> {
  const [row] = await tx.query<GrantRow>(lockedWhere(sql`g.id = ${grantId}`));
  return row ?? null;
}

/** One of the person's own. */
export async function lockGrantOf(
  tx: Tx,
  userId: Uuid<"user">,
  grantId: Uuid<"ogr">,
): Promise<GrantRow | null> {
  const [row] = await tx.query<GrantRow>(lockedWhere(sql`g.user_id = ${userId} AND g.id = ${grantId}`));
  return row ?? null;
}

export type TokenRow = {
  grantId: Uuid<"ogr">;
  clientId: Uuid<"ocl">;
  kind: "access" | "refresh";
  generation: number;
};

export async function findOauthToken(db: Queryable, digest: Buffer): Promise<TokenRow | null> {
  const [row] = await db.query<TokenRow>(sql`
    SELECT t.grant_id, g.client_id, t.kind, t.generation
    FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id
    WHERE t.digest = ${digest}`);
  return row ?? null;
}

export type ListedGrantRow = {
  id: Uuid<"ogr">;
  clientId: Uuid<"ocl">;
  clientName: string | null;
  redirectUri: string | null;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  access: OauthAccess;
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number;
};

/** The person's grants that clients hold, newest first, after `before`. */
export function listGrants(
  db: Queryable,
  userId: Uuid<"user">,
  before: string | null,
  limit: number,
  now: number,
): Promise<ListedGrantRow[]> {
  return db.query<ListedGrantRow>(sql`
    SELECT g.id, g.client_id, c.name AS client_name, g.redirect_uri, v.project_id, g.environment_id, g.access,
      g.created_at, g.last_used_at, g.expires_at
    FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id
    JOIN environments v ON v.id = g.environment_id
    WHERE g.user_id = ${userId} AND g.revoked_at IS NULL AND g.generation > 0 AND g.expires_at > ${timestamp(now)}
      AND ${isBefore(sql`g.id`, before)}
    ORDER BY g.id DESC LIMIT ${limit}`);
}

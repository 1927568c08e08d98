import type { OauthAccess, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewGrant = {
  id: Uuid<"ogr">;
  clientId: Uuid<"ocl">;
  userId: Uuid<"user">;
  environmentId: Uuid<"env">;
  access: OauthAccess;
  /** Null for a device, which has a code of its own. */
  code: { digest: Buffer; challenge: string; redirectUri: string } | null;
  /** Until when its first tokens can be had. */
  expiresAt: number;
  now: number;
};

export async function insertGrant(tx: Tx, grant: NewGrant): Promise<void> {
  const { digest = null, challenge = null, redirectUri = null } = grant.code ?? {};
  await tx.query(sql`
    INSERT INTO oauth_grants (id, client_id, user_id, environment_id, access, code_digest, code_challenge, redirect_uri,
      created_at, expires_at)
    VALUES (${grant.id}, ${grant.clientId}, ${grant.userId}, ${grant.environmentId}, ${grant.access}, ${digest}::bytea,
      ${challenge}::text, ${redirectUri}::text, ${timestamp(grant.now)}, ${timestamp(grant.expiresAt)})`);
}

export async function markGeneration(
  tx: Tx,
  grantId: Uuid<"ogr">,
  generation: number,
  expiresAt: number,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE oauth_grants
    SET generation = ${generation}, generation_began_at = ${timestamp(now)}, expires_at = ${timestamp(expiresAt)}
    WHERE id = ${grantId}`);
}

export async function markGrantRevoked(tx: Tx, grantId: Uuid<"ogr">, now: number): Promise<void> {
  await tx.query(sql`UPDATE oauth_grants SET revoked_at = ${timestamp(now)} WHERE id = ${grantId}`);
}

export type NewToken = { digest: Buffer; kind: "access" | "refresh"; expiresAt: number };

/** A generation has one token of each kind: written again, it is the one that was made last. */
export async function putTokens(
  tx: Tx,
  grantId: Uuid<"ogr">,
  generation: number,
  tokens: readonly NewToken[],
): Promise<void> {
  await tx.query(sql`
    INSERT INTO oauth_tokens (digest, grant_id, kind, generation, expires_at)
    SELECT digest, ${grantId}::uuid, kind, ${generation}::integer, to_timestamp(expires_at / 1000)
    FROM unnest(${tokens.map(({ digest }) => digest)}::bytea[], ${tokens.map(({ kind }) => kind)}::text[],
      ${tokens.map(({ expiresAt }) => expiresAt)}::float8[]) AS made (digest, kind, expires_at)
    ON CONFLICT (grant_id, kind, generation) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at`);
}

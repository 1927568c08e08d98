import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { notifyRevoked } from "../credentials/credential-cache.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { Actor } from "../identity/identity.ts";
import { findOauthToken, lockGrant, lockGrantOf, type GrantRow } from "./grant-reads.ts";
import { markGrantRevoked } from "./grant-writes.ts";

/** All servers refuse the grant's tokens as soon as they hear of the commit. */
export async function revokeGrant(tx: Tx, { id }: GrantRow, now: number): Promise<void> {
  await markGrantRevoked(tx, id, now);
  await notifyRevoked(tx, { kind: "oauth_grant", id });
}

/**
 * A person disconnects a client.
 *
 * @returns null when it was disconnected before
 * @throws DomainError `not_found` also for the grant of somebody else
 */
export async function revokeOwnGrant(
  tx: Tx,
  actor: Actor,
  grantId: Uuid<"ogr">,
  now: number,
): Promise<GrantRow | null> {
  const grant = await lockGrantOf(tx, actor.userId, grantId);
  if (grant === null) throw notFound();
  if (grant.revokedAt !== null) return null;
  await revokeGrant(tx, grant, now);
  return grant;
}

/** A client gives its token back, and with it the grant. Null when there was nothing to revoke. */
export async function revokeByToken(tx: Tx, token: string, now: number): Promise<GrantRow | null> {
  const found = await findOauthToken(tx, credentialDigest(token));
  const grant = found === null ? null : await lockGrant(tx, found.grantId);
  if (grant === null || grant.revokedAt !== null) return null;
  await revokeGrant(tx, grant, now);
  return grant;
}

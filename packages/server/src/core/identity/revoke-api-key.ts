import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { notifyRevoked } from "../credentials/credential-cache.ts";
import { findApiKeyRow } from "./api-key-reads.ts";
import { markApiKeyRevoked } from "./api-key-writes.ts";
import type { Actor } from "./identity.ts";

/**
 * Revokes an API key: all servers refuse it as soon as they hear of the commit. Revoking it again changes nothing.
 *
 * @returns whether this call revoked it
 * @throws DomainError `not_found`
 */
export async function revokeApiKey(
  tx: Tx,
  _actor: Actor,
  environmentId: Uuid<"env">,
  keyId: Uuid<"key">,
  now: number,
): Promise<boolean> {
  if ((await findApiKeyRow(tx, environmentId, keyId)) === null) throw notFound();
  const revoked = await markApiKeyRevoked(tx, environmentId, keyId, now);
  if (revoked) await notifyRevoked(tx, { kind: "api_key", id: keyId });
  return revoked;
}

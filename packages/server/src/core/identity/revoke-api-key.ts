import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { findApiKeyRow } from "./api-key-reads.ts";
import { markApiKeyRevoked } from "./api-key-writes.ts";
import type { Actor } from "./identity.ts";

/**
 * Makes an API key worthless, on every server within a second. Revoking it again changes nothing.
 *
 * @returns whether this call revoked it
 * @throws DomainError `not_found`
 */
export async function revokeApiKey(
  tx: Tx,
  _actor: Actor,
  environmentId: string,
  keyId: string,
  now: number,
): Promise<boolean> {
  if ((await findApiKeyRow(tx, environmentId, keyId)) === null) throw notFound();
  return markApiKeyRevoked(tx, environmentId, keyId, now);
}

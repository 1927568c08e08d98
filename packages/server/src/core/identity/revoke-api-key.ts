import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { findApiKeyRow } from "./api-key-reads.ts";
import { markApiKeyRevoked } from "./api-key-writes.ts";
import type { Actor } from "./identity.ts";

/**
 * Makes an API key worthless, on every server within a second. Revoking it again changes nothing.
 *
 * @throws DomainError `not_found`
 */
export async function revokeApiKey(
  tx: Tx,
  _actor: Actor,
  environmentId: string,
  keyId: string,
  now: number,
): Promise<void> {
  if ((await findApiKeyRow(tx, environmentId, keyId)) === null) throw notFound();
  await markApiKeyRevoked(tx, environmentId, keyId, now);
}

import { decodeId, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { FIRST_UUID } from "../../uuid.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { findCallbackEnvironment } from "./token-reads.ts";

/** No token has it. */
const NO_TOKEN: Uuid<"tok"> = FIRST_UUID;

/**
 * The token that a provider names by id and secret; null when they do not belong together. A malformed id, an absent one
 * and a wrong secret all cost the same one look-up.
 */
export async function findCallbackToken(
  db: Queryable,
  id: string,
  secret: string,
): Promise<{ environmentId: Uuid<"env">; tokenId: Uuid<"tok"> } | null> {
  const tokenId = decodeId("tok", id) ?? NO_TOKEN;
  const environmentId = await findCallbackEnvironment(db, tokenId, credentialDigest(secret));
  return environmentId === null ? null : { environmentId, tokenId };
}

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { giveTokens, notGranted, type TokenContext, type TokenOutcome } from "./give-tokens.ts";
import { findOauthToken, lockGrant } from "./grant-reads.ts";
import { decideRefresh } from "./oauth.ts";

/** Gives the next generation of tokens for a refresh token. Of two that come at once, both get the same one. */
export async function refreshGrant(
  tx: Tx,
  { clientId, refreshToken }: { clientId: Uuid<"ocl">; refreshToken: string },
  context: TokenContext,
): Promise<TokenOutcome> {
  const token = await findOauthToken(tx, credentialDigest(refreshToken));
  if (token === null || token.kind !== "refresh" || token.clientId !== clientId) return notGranted();
  const grant = await lockGrant(tx, token.grantId);
  if (grant === null || grant.role === null) return notGranted();
  return giveTokens(tx, grant, decideRefresh(grant, token.generation, context.now), context);
}

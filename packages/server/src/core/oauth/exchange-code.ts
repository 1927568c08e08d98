import { hash } from "node:crypto";
import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { giveTokens, notGranted, type TokenContext, type TokenOutcome } from "./give-tokens.ts";
import { lockGrantByCode } from "./grant-reads.ts";
import { decideFirst } from "./oauth.ts";

export type CodeExchange = { clientId: Uuid<"ocl">; code: string; redirectUri: string; verifier: string };

/**
 * Exchanges an authorization code, once. Whoever comes with a used one has what was meant for one alone, so what it gave is
 * revoked (RFC 6749, section 4.1.2).
 */
export async function exchangeCode(
  tx: Tx,
  { clientId, code, redirectUri, verifier }: CodeExchange,
  context: TokenContext,
): Promise<TokenOutcome> {
  const grant = await lockGrantByCode(tx, credentialDigest(code));
  if (grant === null) return notGranted();
  const decision = decideFirst(grant, context.now);
  const isBound =
    grant.clientId === clientId &&
    grant.redirectUri === redirectUri &&
    grant.codeChallenge === hash("sha256", verifier, "base64url");
  if (decision.kind === "begin" && (!isBound || grant.role === null)) return notGranted();
  return giveTokens(tx, grant, decision, context);
}

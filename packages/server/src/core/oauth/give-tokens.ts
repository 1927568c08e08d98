import { CREDENTIAL_KINDS, type OauthAccess } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { deriveCredential, type MasterKey } from "../credentials/master-key.ts";
import { keepOauthClient } from "./client-writes.ts";
import type { GrantRow } from "./grant-reads.ts";
import { markGeneration, putTokens } from "./grant-writes.ts";
import {
  ACCESS_TOKEN_MS,
  GRANT_MS,
  refuse,
  USED_CLIENT_MS,
  type OauthRefusal,
  type TokenDecision,
} from "./oauth.ts";
import { revokeGrant } from "./revoke-grant.ts";

export type TokenContext = { masterKey: MasterKey; now: number };

/** Tokens, a refusal, or the end of a grant whose code or token somebody else has as well. */
export type TokenOutcome =
  | { kind: "tokens"; accessToken: string; refreshToken: string; expiresInMs: number; access: OauthAccess }
  | { kind: "revoked"; grant: GrantRow }
  | OauthRefusal;

export const notGranted = (): OauthRefusal =>
  refuse(
    "invalid_grant",
    "This code or token is unknown, used, expired or revoked, or it is another client's. Sign in again.",
  );

/**
 * Does what was decided of a locked grant. The tokens of a generation are derived from it: who asks again for an answer that
 * was lost gets the same one.
 */
export async function giveTokens(
  tx: Tx,
  grant: GrantRow,
  decision: TokenDecision,
  context: TokenContext,
): Promise<TokenOutcome> {
  switch (decision.kind) {
    case "none":
      return notGranted();
    case "revoke":
      await revokeGrant(tx, grant, context.now);
      return { kind: "revoked", grant };
    case "begin": {
      const { now } = context;
      const expiresAt = now + GRANT_MS;
      await markGeneration(tx, grant.id, decision.generation, expiresAt, now);
      await keepOauthClient(tx, grant.clientId, now + USED_CLIENT_MS);
      return makeTokens(tx, { ...grant, expiresAt }, decision.generation, context);
    }
    case "repeat":
      return makeTokens(tx, grant, decision.generation, context);
  }
}

async function makeTokens(
  tx: Tx,
  { id, access, expiresAt }: GrantRow,
  generation: number,
  { masterKey, now }: TokenContext,
): Promise<TokenOutcome> {
  const make = (kind: "accessToken" | "refreshToken"): string =>
    deriveCredential(masterKey, CREDENTIAL_KINDS[kind], "oauth", `${id} ${generation}`);
  const [accessToken, refreshToken] = [make("accessToken"), make("refreshToken")];
  await putTokens(tx, id, generation, [
    { kind: "access", digest: credentialDigest(accessToken), expiresAt: now + ACCESS_TOKEN_MS },
    { kind: "refresh", digest: credentialDigest(refreshToken), expiresAt },
  ]);
  return { kind: "tokens", accessToken, refreshToken, expiresInMs: ACCESS_TOKEN_MS, access };
}

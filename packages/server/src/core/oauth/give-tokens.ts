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

export type TokenContext = {
  masterKey: MasterKey;
  /** The tag of the installation's cell, which tokens carry. */
  cell: string | null;
  now: number;
};

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
 * was lost gets the same one, but for the moment in which an installation is given the tag of its cell: then the last one counts.
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
  { masterKey, cell, now }: TokenContext,
): Promise<TokenOutcome> {
  const make = (kind: "accessToken" | "refreshToken"): string =>
    deriveCredential(masterKey, {
      ...{ kind: CREDENTIAL_KINDS[kind], purpose: "oauth", id: `${id} ${generation}`, cell },
    });
  const [accessToken, refreshToken] = [make("accessToken"), make("refreshToken")];
  await putTokens(tx, id, generation, [
    { kind: "access", digest: credentialDigest(accessToken), expiresAt: now + ACCESS_TOKEN_MS },
    { kind: "refresh", digest: credentialDigest(refreshToken), expiresAt },
  ]);
  return { kind: "tokens", accessToken, refreshToken, expiresInMs: ACCESS_TOKEN_MS, access };
}

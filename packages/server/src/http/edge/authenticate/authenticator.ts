import { hash } from "node:crypto";
import { CREDENTIAL_KINDS, parseCredential, type CredentialKind } from "@keelson/contract";
import type { CredentialUse } from "../../../core/credentials/credential-use.ts";
import { findRunPrincipal } from "../../../core/credentials/find-run.ts";
import {
  findApiKey,
  findCompletionToken,
  findOauthAccess,
  findPublicAccess,
  findServiceKey,
  findUserSession,
  findWorkerToken,
  type FoundPrincipal,
} from "../../../core/credentials/principal-reads.ts";
import type { RunLease } from "../../../core/credentials/run-token.ts";
import type { Database } from "../../../db/pool.ts";
import type { ServerContext } from "../../../server-context.ts";

type Lookup = (db: Database, digest: Buffer) => Promise<FoundPrincipal | null>;

/** Credentials that stand for a caller by themselves. The others are arguments of single routes. */
const LOOKUPS: Partial<Record<CredentialKind, Lookup>> = {
  [CREDENTIAL_KINDS.apiKey]: findApiKey,
  [CREDENTIAL_KINDS.userSession]: findUserSession,
  [CREDENTIAL_KINDS.accessToken]: findOauthAccess,
  [CREDENTIAL_KINDS.worker]: findWorkerToken,
  [CREDENTIAL_KINDS.completionToken]: findCompletionToken,
  [CREDENTIAL_KINDS.publicAccess]: findPublicAccess,
  [CREDENTIAL_KINDS.admin]: findServiceKey,
  [CREDENTIAL_KINDS.capacity]: findServiceKey,
};

export type Authenticator = {
  /** Whom a bearer credential stands for, at once when it was looked up lately; null when it is not valid. */
  find(credential: string): FoundPrincipal | null | Promise<FoundPrincipal | null>;
};

type AuthenticatorContext = Pick<
  ServerContext,
  "db" | "clock" | "credentialCache" | "runTokens" | "deployments"
>;

export function createAuthenticator(context: AuthenticatorContext, use: CredentialUse): Authenticator {
  const { db, clock, credentialCache, runTokens } = context;
  const unexpired = (found: FoundPrincipal, now: number): FoundPrincipal | null =>
    found.expiresAt !== null && found.expiresAt <= now ? null : found;

  const lookUp = async (lookup: Lookup, credential: string): Promise<FoundPrincipal | null> => {
    const { keep } = credentialCache.begin();
    const found = await lookup(db, hash("sha256", credential, "buffer"));
    if (found === null) return null;
    const now = clock();
    keep(credential, found, now);
    const valid = unexpired(found, now);
    if (valid !== null) use.note(valid.principal, now);
    return valid;
  };

  /** What cannot be looked up now is trusted no longer than before, and looked up by the request that comes then. */
  const renew = (credential: string): void => {
    const kind = parseCredential(credential);
    const lookup = kind === null ? undefined : LOOKUPS[kind];
    if (lookup !== undefined) void lookUp(lookup, credential).catch(() => undefined);
  };

  /** Until when its lease is held is not known before it is over. */
  const findLeased = async (lease: RunLease): Promise<FoundPrincipal | null> => {
    const principal = await findRunPrincipal(context, lease);
    return principal === null ? null : { principal, expiresAt: null };
  };

  return {
    find: (credential) => {
      const now = clock();
      const cached = credentialCache.find(credential, now);
      if (cached !== null) {
        if (credentialCache.takesRenewal(credential, now)) renew(credential);
        return unexpired(cached, now);
      }
      const kind = parseCredential(credential);
      if (kind === CREDENTIAL_KINDS.run) {
        // Never from the cache: it is refused from the moment in which its lease is over.
        const lease = runTokens.read(credential);
        return lease === null ? null : findLeased(lease);
      }
      const lookup = kind === null ? undefined : LOOKUPS[kind];
      return lookup === undefined ? null : lookUp(lookup, credential);
    },
  };
}

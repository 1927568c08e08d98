import { hash } from "node:crypto";
import { CREDENTIAL_KINDS, parseCredential, type CredentialKind } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { CredentialUse } from "../../core/credentials/credential-use.ts";
import type { Principal } from "../../core/credentials/principal.ts";
import {
  findApiKey,
  findCompletionToken,
  findPublicAccess,
  findServiceKey,
  findUserSession,
  findWorkerToken,
  type FoundPrincipal,
} from "../../core/credentials/principal-reads.ts";
import type { Database } from "../../db/pool.ts";

type Lookup = (db: Database, digest: Buffer) => Promise<FoundPrincipal | null>;

/** Credentials that stand for a caller by themselves. The others are arguments of single routes. */
const LOOKUPS: Partial<Record<CredentialKind, Lookup>> = {
  [CREDENTIAL_KINDS.apiKey]: findApiKey,
  [CREDENTIAL_KINDS.userSession]: findUserSession,
  [CREDENTIAL_KINDS.worker]: findWorkerToken,
  [CREDENTIAL_KINDS.completionToken]: findCompletionToken,
  [CREDENTIAL_KINDS.publicAccess]: findPublicAccess,
  [CREDENTIAL_KINDS.admin]: findServiceKey,
  [CREDENTIAL_KINDS.capacity]: findServiceKey,
};

/** A look-up is trusted this long, so a revocation takes effect within a second on every replica. */
const TRUSTED_MS = 1_000;
const MAX_CACHED = 10_000;

export type Authenticator = {
  /** The principal of a bearer credential, at once when it was looked up lately; null when it is not valid. */
  authenticate(credential: string): Principal | null | Promise<Principal | null>;
};

type Cached = FoundPrincipal & { trustedUntil: number };

export function createAuthenticator(db: Database, clock: Clock, use: CredentialUse): Authenticator {
  // By the text, which is in memory with every request anyway: its digest would cost more than the rest of a look-up.
  const cache = new Map<string, Cached>();

  const principalOf = (found: FoundPrincipal, now: number): Principal | null =>
    found.expiresAt !== null && found.expiresAt <= now ? null : found.principal;

  const lookUp = async (lookup: Lookup, credential: string): Promise<Principal | null> => {
    const found = await lookup(db, hash("sha256", credential, "buffer"));
    if (found === null) return null;
    if (cache.size >= MAX_CACHED) cache.clear();
    const now = clock();
    cache.set(credential, { ...found, trustedUntil: now + TRUSTED_MS });
    const principal = principalOf(found, now);
    if (principal !== null) use.note(principal, now);
    return principal;
  };

  return {
    authenticate: (credential) => {
      const cached = cache.get(credential);
      const now = clock();
      if (cached !== undefined && cached.trustedUntil > now) return principalOf(cached, now);
      cache.delete(credential);
      const kind = parseCredential(credential);
      const lookup = kind === null ? undefined : LOOKUPS[kind];
      return lookup === undefined ? null : lookUp(lookup, credential);
    },
  };
}

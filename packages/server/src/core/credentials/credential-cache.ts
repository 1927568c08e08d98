import { isWithin } from "../../clock.ts";
import type { Tx } from "../../db/queryable.ts";
import { WAKE_CHANNEL } from "../feeds/wake-notifier.ts";
import { notifyAtCommit } from "./credential-writes.ts";
import type { Principal } from "./principal.ts";
import type { FoundPrincipal } from "./principal-reads.ts";

/** Whose credentials are looked up again from now on: a key's, a session's, a grant's, or all sessions and grants of a user. */
export type Holder = { kind: "api_key" | "session" | "oauth_grant" | "user"; id: string };

/**
 * Credentials that were looked up lately, so that a request costs no query. A revocation drops them: at once on the
 * server that answers it, on the others when its NOTIFY arrives. A server that does not hear NOTIFY trusts a look-up for
 * a second. One that is used all the time is looked up again before that second is over, beside the requests.
 */
export type CredentialCache = {
  find(credential: string, now: number): FoundPrincipal | null;
  /** Whether to look it up again beside the request that has just found it: once a look-up. */
  takesRenewal(credential: string, now: number): boolean;
  /** Begins a look-up; `keep` stores what it found, unless credentials were forgotten meanwhile. */
  begin(): { keep(credential: string, found: FoundPrincipal, now: number): void };
  /** Call it after the commit. */
  forget(holder: Holder): void;
  /** Notifications may have been missed. */
  forgetAll(): void;
  /** Takes a key of a notification; false when the key is another's. */
  hear(key: string): boolean;
  /** Tells of each time that the principal's credentials were forgotten, until the returned function is called. */
  watch(principal: Principal, onForgotten: () => void): () => void;
};

const TRUSTED_MS = 1_000;
/** What is used this shortly before its time is over is renewed. */
const RENEWED_MS = 500;
const MAX_CACHED = 10_000;
const PREFIX = "c:";
/** No replica's id: the replica that revokes hears its own notification too, which does no harm. */
const SENDER = "revocation";

type Cached = FoundPrincipal & { trustedUntil: number; isRenewed: boolean };
type Watcher = { principal: Principal; onForgotten: () => void };

/** Tells all servers at the commit, so that there is no revocation without its notification. */
export async function notifyRevoked(tx: Tx, { kind, id }: Holder): Promise<void> {
  await notifyAtCommit(tx, WAKE_CHANNEL, `${SENDER} ${PREFIX}${kind}:${id}`);
}

export function createCredentialCache(): CredentialCache {
  // By the text, which is in memory with every request anyway: its digest would cost more than the rest of a look-up.
  const cache = new Map<string, Cached>();
  const watchers = new Set<Watcher>();
  let forgotten = 0;

  const forget = (isForgotten: (principal: Principal) => boolean): void => {
    forgotten += 1;
    for (const [credential, { principal }] of cache) if (isForgotten(principal)) cache.delete(credential);
    for (const { principal, onForgotten } of watchers) if (isForgotten(principal)) onForgotten();
  };

  return {
    find: (credential, now) => {
      const cached = cache.get(credential);
      if (cached !== undefined && isWithin(cached.trustedUntil - now, TRUSTED_MS)) return cached;
      cache.delete(credential);
      return null;
    },
    takesRenewal: (credential, now) => {
      const cached = cache.get(credential);
      if (cached === undefined || cached.isRenewed || cached.trustedUntil - now > RENEWED_MS) return false;
      cached.isRenewed = true;
      return true;
    },
    begin: () => {
      const before = forgotten;
      return {
        keep: (credential, found, now) => {
          // What the look-up read may be older than what was forgotten since.
          if (before !== forgotten) return;
          if (cache.size >= MAX_CACHED) cache.clear();
          cache.set(credential, { ...found, trustedUntil: now + TRUSTED_MS, isRenewed: false });
        },
      };
    },
    forget: (holder) => forget((principal) => isOf(principal, holder)),
    forgetAll: () => forget(() => true),
    hear: (key) => {
      if (!key.startsWith(PREFIX)) return false;
      const [kind, id = ""] = key.slice(PREFIX.length).split(":");
      forget((principal) => isOf(principal, { kind: kind as Holder["kind"], id }));
      return true;
    },
    watch: (principal, onForgotten) => {
      const watcher = { principal, onForgotten };
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

function isOf(principal: Principal, { kind, id }: Holder): boolean {
  switch (kind) {
    case "api_key":
      return principal.kind === "api_key" && principal.id === id;
    case "session":
      return principal.kind === "user" && principal.sessionId === id;
    case "user":
      return (
        (principal.kind === "user" && principal.id === id) ||
        (principal.kind === "oauth_grant" && principal.userId === id)
      );
    case "oauth_grant":
      return principal.kind === "oauth_grant" && principal.id === id;
    default:
      return false;
  }
}

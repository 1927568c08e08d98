import type { Uuid } from "@keelson/contract";
import type { Principal } from "./principal.ts";

/** When credentials were last used, kept in memory until a loop writes it. */
export type CredentialUse = {
  /** Noted when a credential is looked up, which is at most once a second for each. */
  note(principal: Principal, now: number): void;
  /** What was noted since the last call, by id: milliseconds. */
  take(): TakenUse;
  /** Keeps what could not be written for the next time. */
  putBack(taken: TakenUse): void;
};

export type TakenUse = {
  apiKeys: ReadonlyMap<Uuid<"key">, number>;
  sessions: ReadonlyMap<Uuid<"usess">, number>;
  grants: ReadonlyMap<Uuid<"ogr">, GrantUse>;
};

/** When a token of a grant was used, and of which generation the newest one was. */
export type GrantUse = { at: number; generation: number };

const later = (known: GrantUse | undefined, { at, generation }: GrantUse): GrantUse => ({
  at: Math.max(at, known?.at ?? 0),
  generation: Math.max(generation, known?.generation ?? 0),
});

export function createCredentialUse(): CredentialUse {
  let apiKeys = new Map<Uuid<"key">, number>();
  let sessions = new Map<Uuid<"usess">, number>();
  let grants = new Map<Uuid<"ogr">, GrantUse>();
  return {
    note: (principal, now) => {
      if (principal.kind === "api_key") apiKeys.set(principal.id, now);
      else if (principal.kind === "user") sessions.set(principal.sessionId, now);
      else if (principal.kind === "oauth_grant")
        grants.set(
          principal.id,
          later(grants.get(principal.id), { at: now, generation: principal.generation }),
        );
    },
    take: () => {
      const taken = { apiKeys, sessions, grants };
      apiKeys = new Map();
      sessions = new Map();
      grants = new Map();
      return taken;
    },
    putBack: (taken) => {
      apiKeys = new Map([...taken.apiKeys, ...apiKeys]);
      sessions = new Map([...taken.sessions, ...sessions]);
      for (const [id, use] of taken.grants) grants.set(id, later(grants.get(id), use));
    },
  };
}

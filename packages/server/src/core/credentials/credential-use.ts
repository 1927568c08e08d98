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
};

export function createCredentialUse(): CredentialUse {
  let apiKeys = new Map<Uuid<"key">, number>();
  let sessions = new Map<Uuid<"usess">, number>();
  return {
    note: (principal, now) => {
      if (principal.kind === "api_key") apiKeys.set(principal.id, now);
      else if (principal.kind === "user") sessions.set(principal.sessionId, now);
    },
    take: () => {
      const taken = { apiKeys, sessions };
      apiKeys = new Map();
      sessions = new Map();
      return taken;
    },
    putBack: (taken) => {
      apiKeys = new Map([...taken.apiKeys, ...apiKeys]);
      sessions = new Map([...taken.sessions, ...sessions]);
    },
  };
}

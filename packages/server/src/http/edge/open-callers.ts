import type { Uuid } from "@keelson/contract";
import type { Logger } from "pino";
import type { CredentialCache } from "../../core/credentials/credential-cache.ts";
import type { Principal } from "../../core/credentials/principal.ts";
import { wakeKeys } from "../../core/feeds/wake-keys.ts";
import type { Wakes } from "../../core/feeds/wakes.ts";
import type { Clock } from "../../clock.ts";
import { DomainError } from "../../domain-error.ts";
import type { Authenticator } from "./authenticate/authenticator.ts";
import type { ShownCredential } from "./authenticate/find-credential.ts";
import { checkCaller } from "./check-caller.ts";
import type { createScopeResolver, Whereabouts } from "./resolve-scope.ts";
import type { Route } from "./route.ts";

/**
 * Callers whose request stays open: followers and long polls. When something of a credential changes, all requests under
 * it are looked at again as if they were new, by one look-up for all of them, and so when it expires. Between changes
 * nothing is asked.
 */
export type OpenCallers = {
  /** The returned function ends it. */
  add(caller: OpenCaller): () => void;
};

export type OpenCaller = {
  route: Route;
  credential: ShownCredential;
  principal: Principal;
  where: Whereabouts;
  /** Told once what a new request would be refused with. */
  refuse(refusal: DomainError): void;
};

type Options = {
  authenticator: Authenticator;
  resolveScope: ReturnType<typeof createScopeResolver>;
  credentialCache: CredentialCache;
  wakes: Wakes;
  clock: Clock;
  log: Logger;
};

/** Those under one credential. */
type Group = { callers: Set<OpenCaller>; look(at: Iterable<OpenCaller>): void; close(): void };

/** A run that writes much wakes often; its lease is looked at so often at most. */
const LOOK_INTERVAL_MS = 50;
const RETRY_MS = 1_000;
/** A clock that was set, and a machine that slept, are noticed this soon. */
const LONGEST_TO_EXPIRY_MS = 60_000;
/** The longest timer; the listener is woken before. */
const FOREVER_MS = 2_147_483_647;

const READERS: ReadonlySet<Route["access"]["kind"]> = new Set([
  "environment",
  "public_access",
  "public_run_access",
]);

/** What reads and stays open. A request that changes something is answered with what it did. */
export const isWatched = ({ method, access }: Route): boolean => method === "GET" && READERS.has(access.kind);

export function createOpenCallers(options: Options): OpenCallers {
  const groups = new Map<string, Group>();
  return {
    add: (caller) => {
      const { text } = caller.credential;
      let group = groups.get(text);
      if (group === undefined) groups.set(text, (group = openGroup(options, caller)));
      const own = group;
      own.callers.add(caller);
      // Something may have changed since the request was let in.
      own.look([caller]);
      return () => {
        own.callers.delete(caller);
        if (own.callers.size > 0 || groups.get(text) !== own) return;
        groups.delete(text);
        own.close();
      };
    },
  };
}

function openGroup(options: Options, { credential, principal }: OpenCaller): Group {
  const { credentialCache, wakes, clock, log } = options;
  const callers = new Set<OpenCaller>();
  let isWanted = false;
  let timer: NodeJS.Timeout | undefined;
  let expiry: NodeJS.Timeout | undefined;
  const lookAllIn = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      if (isWanted) lookAll();
    }, ms).unref();
  };
  const look = (at: Iterable<OpenCaller>): void => {
    lookAgain(options, credential, [...at]).then(lookWhenExpired, (err: unknown) => {
      if (callers.size === 0) return;
      log.warn({ err }, "open requests could not be looked at again; trying again");
      isWanted = true;
      lookAllIn(RETRY_MS);
    });
  };
  const lookAll = (): void => {
    isWanted = timer !== undefined;
    if (isWanted) return;
    lookAllIn(LOOK_INTERVAL_MS);
    look(callers);
  };
  const lookWhenExpired = (expiresAt: number | null): void => {
    clearTimeout(expiry);
    if (expiresAt === null || callers.size === 0) return;
    const leftMs = expiresAt - clock();
    const next = (): void => (leftMs > LONGEST_TO_EXPIRY_MS ? lookWhenExpired(expiresAt) : lookAll());
    expiry = setTimeout(next, Math.min(Math.max(leftMs, 1), LONGEST_TO_EXPIRY_MS)).unref();
  };
  const unwatch = credentialCache.watch(principal, lookAll);
  const stopHearing = principal.kind === "run" ? hearRun(wakes, principal.id, lookAll) : () => undefined;
  const close = (): void => {
    clearTimeout(timer);
    clearTimeout(expiry);
    unwatch();
    stopHearing();
  };
  return { callers, look, close };
}

/** A run is heard of when its state changes, so also when its lease is over. */
function hearRun(wakes: Wakes, runId: Uuid<"run">, onChange: () => void): () => void {
  const listener = wakes.listen(wakeKeys.run(runId));
  let isOpen = true;
  const hear = (): void => {
    void listener.next(FOREVER_MS).then(() => {
      if (!isOpen) return;
      onChange();
      hear();
    });
  };
  hear();
  return () => {
    isOpen = false;
    listener.wake();
    listener.close();
  };
}

/**
 * Refuses those that a new request would be refused for. One look-up serves all that ask the same.
 *
 * @returns when the credential expires, in milliseconds since the epoch; null when it does not, or is no longer good.
 */
async function lookAgain(
  { authenticator, resolveScope }: Options,
  credential: ShownCredential,
  callers: readonly OpenCaller[],
): Promise<number | null> {
  const found = await authenticator.find(credential.text);
  const principal = found?.principal ?? null;
  const asked = new Map<string, Promise<void>>();
  const check = async ({ route, where }: OpenCaller): Promise<void> => {
    await resolveScope(route, checkCaller(route, principal, credential), where);
  };
  const looks = callers.map(async (caller) => {
    const { route, where } = caller;
    const key = JSON.stringify([route.access, where.selection]);
    let answer = asked.get(key);
    if (answer === undefined) asked.set(key, (answer = check(caller)));
    try {
      await answer;
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      caller.refuse(error);
    }
  });
  await Promise.all(looks);
  return found?.expiresAt ?? null;
}

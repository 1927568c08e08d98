import type { ServerResponse } from "node:http";
import type { Principal } from "../../core/credentials/principal.ts";
import { wakeKeys } from "../../core/feeds/wake-keys.ts";
import { createExactCount } from "../../core/rates/count-exactly.ts";
import type { RatePolicy, RateSettings, RateState } from "../../core/rates/rate.ts";
import { createRateCounters, type RateCounters } from "../../core/rates/rate-counters.ts";
import { DomainError } from "../../domain-error.ts";
import { callerAddress } from "./caller-address.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Route } from "./route.ts";

/**
 * Limits of all routes. Workers are not limited: their polls and reports are paced by what there is to do. Neither are
 * the server's own pages and its health.
 */
export type RateLimits = {
  /** Counts a request whose caller is known. Throws DomainError `rate_limited` when it is one too many. */
  take(route: Route, principal: Principal | null, request: Caller, response: ServerResponse): void;
  /** Counts a credential that is not valid; throws instead of the refusal that it would get. */
  takeFailure(request: Caller, response: ServerResponse): void;
  /** Counts a sign-in, exactly: null where the route is none. */
  takeLogin(route: Route, request: Caller, response: ServerResponse): Promise<void> | null;
  counters: RateCounters;
};

/** A request of Fastify, which finds the address when it is asked for it. */
type Caller = { readonly ip: string };

const SECONDS = 1_000;
/** Long enough for servers to tell each other within it, short enough to wait for its end. */
const WINDOW_SECONDS = 10;
/** Devices that wait ask every few seconds, and fleets of workers start at once behind one address. */
const MANY = 10;

const perSecond = (name: RatePolicy["name"], limit: number): RatePolicy => ({
  name,
  limit: limit * WINDOW_SECONDS,
  windowMs: WINDOW_SECONDS * SECONDS,
});

const perMinute = (name: RatePolicy["name"], limit: number): RatePolicy => ({
  name,
  limit,
  windowMs: 60 * SECONDS,
});

export function createRateLimits(
  settings: RateSettings,
  { clock, db, wakes }: Pick<ServerContext, "clock" | "db" | "wakes">,
): RateLimits {
  const counters = createRateCounters(clock, () => wakes.wakeLocal(wakeKeys.rates));
  const countExactly = createExactCount(db, clock);
  const credential = perSecond("credential", settings.credential);
  const byAddress = perSecond("address", settings.address);
  const failure = perMinute("failure", settings.failures);
  const logins = {
    login: perMinute("login", settings.logins),
    poll: perMinute("poll", settings.logins * MANY),
    mint: perMinute("mint", settings.logins * MANY),
  };
  const takeAddress = (policy: RatePolicy, { ip }: Caller, response: ServerResponse): void =>
    check(counters.take(policy, callerAddress(ip)), policy, response);
  return {
    counters,
    take: (route, principal, request, response) => {
      if (principal?.kind === "worker" || route.family === "system") return;
      if (principal !== null) {
        if (credential.limit === 0) return;
        check(counters.take(credential, holderOf(principal)), credential, response);
      } else if (byAddress.limit > 0) takeAddress(byAddress, request, response);
    },
    takeFailure: (request, response) => {
      if (failure.limit > 0) takeAddress(failure, request, response);
    },
    takeLogin: (route, { ip }, response) => {
      if (route.signIn === undefined || settings.logins === 0) return null;
      const policy = logins[route.signIn];
      return countExactly(policy, callerAddress(ip)).then((state) => check(state, policy, response));
    },
  };
}

/** The runs of an environment share one limit, as if they had one key: otherwise more runs could ask for more. */
const holderOf = (principal: Exclude<Principal, { kind: "worker" }>): string =>
  principal.kind === "run" ? `runs ${principal.environmentId}` : `${principal.kind} ${principal.id}`;

/** Says where the caller stands: the three headers of the IETF draft "RateLimit header fields for HTTP". */
function check(state: RateState, { windowMs }: RatePolicy, response: ServerResponse): void {
  const { allowed, limit, remaining, resetSeconds } = state;
  response.setHeader("ratelimit-limit", limit);
  response.setHeader("ratelimit-remaining", remaining);
  response.setHeader("ratelimit-reset", resetSeconds);
  if (allowed) return;
  throw new DomainError(
    "rate_limited",
    `The limit is ${limit} such requests per ${windowMs / SECONDS} seconds. Wait ${resetSeconds} s, and send fewer requests.`,
    { limit, window_seconds: windowMs / SECONDS, retry_after_seconds: resetSeconds },
  );
}

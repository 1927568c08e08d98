import { Client } from "../client/client.ts";
import type { SessionsApi } from "../client/sessions.ts";
import { UsageError } from "../keelson-error.ts";
import type { Harness } from "./harness.ts";
import { readSession } from "./read-session.ts";

/** What a call of a client answers that nobody takes: it rejects, also where it is a list. */
function refuse(call: string): unknown {
  const error = new UsageError(
    `ctx.client.${call}() needs a server, and a test in process has none. Pass \`client\` in the options of the test, with what this call is to do.`,
  );
  const rejected = Promise.reject(error);
  rejected.catch(() => undefined);
  const fail = (): Promise<never> => Promise.reject(error);
  const iterate = () => ({ next: fail });
  return Object.assign(rejected, { page: fail, [Symbol.asyncIterator]: iterate });
}

type Api = Record<string | symbol, unknown>;
type AnyFunction = (...args: never[]) => unknown;

/** The client of code in a test: the methods that the code calls, each with the answer that the code needs, or a `Client` of a server. */
export type TestClient = {
  [K in keyof Client]?:
    | Client[K]
    | { [M in keyof Client[K]]?: Client[K][M] extends AnyFunction ? AnyFunction : object };
};

const isKept = (key: string | symbol): boolean => typeof key === "symbol" || key === "then";

/** A method that refuses, and all that is looked up in it. */
const refusing = (call: string): unknown =>
  new Proxy(() => undefined, {
    apply: () => refuse(call),
    get: (_, key) => (isKept(key) ? undefined : refusing(`${call}.${String(key)}`)),
  });

/** The methods that are given; the others refuse. */
const orRefuse = (name: string, given: object | undefined): Api =>
  new Proxy((given ?? {}) as Api, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value === "function") return value.bind(target) as unknown;
      return value !== undefined || isKept(key) ? value : refusing(`${name}.${String(key)}`);
    },
  });

/**
 * What `ctx.client` is: what the test gives, and the records and messages of its own session. Everything else says that there is no
 * server.
 */
export function createTestClient(harness: Harness): Client {
  const given = (harness.options.client ?? {}) as Api;
  const fetch = (url: string | URL | Request): Promise<Response> =>
    Promise.resolve(readSession(harness, new URL(url instanceof Request ? url.url : url)));
  const { sessions: own } = new Client({
    ...{ url: "http://keelson.test", apiKey: "none", fetch, maxRetries: 0 },
  });
  const isOwn = (target: unknown): boolean => {
    const { session } = harness;
    if (session === null) return false;
    const { id, externalId } = (typeof target === "object" && target !== null ? target : { id: target }) as {
      id?: unknown;
      externalId?: unknown;
    };
    return id === session.id || (externalId !== undefined && externalId === session.externalId);
  };
  const others = orRefuse("sessions", given["sessions"] as object | undefined) as SessionsApi & Api;
  const sessions = new Proxy(others, {
    get: (target, key) => {
      const other: unknown = Reflect.get(target, key, target);
      if (key !== "messages" && key !== "read" && key !== "records") return other;
      return (session: unknown, ...rest: unknown[]): unknown => {
        const api = (isOwn(session) ? own : others) as unknown as Record<
          string,
          (...args: unknown[]) => unknown
        >;
        return api[key]?.(session, ...rest);
      };
    },
  });
  return new Proxy(given, {
    get: (target, key) => {
      if (key === "sessions") return sessions;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value === "function") return value.bind(target) as unknown;
      if (isKept(key)) return value;
      return value === undefined ? refusing(String(key)) : orRefuse(String(key), value as object);
    },
  }) as unknown as Client;
}

import { Client } from "../client/client.ts";
import type { SessionsApi } from "../client/sessions.ts";
import { UsageError } from "../keelson-error.ts";
import type { Harness } from "./harness.ts";
import { answerForFiles } from "./session-files.ts";
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

type IsOwn = (session: unknown) => boolean;

/** A method that takes the session first: of the session of the test, or of the others. */
const byOwner =
  (isOwn: IsOwn, own: object, others: object, key: string) =>
  (session: unknown, ...rest: unknown[]): unknown => {
    const api = (isOwn(session) ? own : others) as Record<string, (...args: unknown[]) => unknown>;
    return api[key]?.(session, ...rest);
  };

/** Each method of an API that takes the session first. */
const chosen = (isOwn: IsOwn, own: object, others: object): object =>
  new Proxy(own, {
    get: (_, key) => (isKept(key) ? undefined : byOwner(isOwn, own, others, String(key))),
  });

/** The client's way to the session of the test, which answers from memory. `isOfTest`: the test itself uses it. */
export function ownSession(harness: Harness, isOfTest: boolean): SessionsApi {
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const asked = new URL(url instanceof Request ? url.url : url);
    const { session } = harness;
    if (session === null || !FILES.test(asked.pathname)) return readSession(harness, asked);
    return answerForFiles(session, asked, init, { now: () => harness.clock.timestamp(), isOfTest });
  };
  return new Client({ url: "http://keelson.test", apiKey: "none", fetch, maxRetries: 0 }).sessions;
}
const FILES = /^\/api\/sessions\/[^/]+\/files(\/|$)/;

/**
 * What `ctx.client` is: what the test gives, and the records, messages and files of its own session. Everything else says that there is no
 * server.
 */
export function createTestClient(harness: Harness): Client {
  const given = (harness.options.client ?? {}) as Api;
  const own = ownSession(harness, false);
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
      if (key === "files") return chosen(isOwn, own.files, other as object);
      if (key !== "messages" && key !== "read" && key !== "records") return other;
      return byOwner(isOwn, own, others, key);
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

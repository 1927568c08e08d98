/**
 * What a web page needs, with public access tokens alone: talk to a session and complete a token. Nothing of Node and
 * no schema library is imported; everything is done by `fetch`.
 */
import type { TokenCompletion } from "@keelson/contract";
import type { ClientConfig } from "./client/config.ts";
import type { ApiRequest, CallOptions } from "./client/exchange.ts";
import { followStream, type FollowOptions } from "./client/follow-stream.ts";
import { createInputWriter, type InputWriter } from "./client/process-input.ts";
import type { StreamEvent } from "./client/read-events.ts";
import { createPublicSession, type SessionClient, type TokenSource } from "./client/public-session.ts";
import { completeAt } from "./client/tokens.ts";
import { createTransport, withQuery } from "./client/transport.ts";

export type { ApiRequest, CallOptions } from "./client/exchange.ts";
export type { FollowOptions } from "./client/follow-stream.ts";
export type { InputWriter } from "./client/process-input.ts";
export type { StreamEvent } from "./client/read-events.ts";
export type { OutputOptions, SessionClient, TokenNeed, TokenSource } from "./client/public-session.ts";
export type {
  AppendBatchCallOptions,
  AppendCallOptions,
  NewRecord,
  RecordOf,
} from "./client/record-appends.ts";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  KeelsonError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type KeelsonErrorCode,
} from "./client/errors.ts";
export type { StreamRecord, Token, TokenCompletion } from "@keelson/contract";

/** The server and how it is called. */
export type ConnectionOptions = {
  /** The server, e.g. `https://keelson.example.com`. */
  url: string;
  /** Used instead of the browser's own. */
  fetch?: typeof globalThis.fetch;
  /** Repeats of a request that may be repeated. Default 4. */
  maxRetries?: number;
  /** For one request, its retries not counted. Default 30,000. */
  timeoutMs?: number;
};

/** Which session of which server, and by which tokens. */
export type SessionClientOptions = ConnectionOptions & {
  /** A public access token, one for each direction, or a function that gives one. */
  token: TokenSource;
  /** By the id or by the external id, as the token's scope names it. */
  session: { id: string } | { externalId: string };
};

function toConfig({ url, fetch, maxRetries = 4, timeoutMs = 30_000 }: ConnectionOptions): ClientConfig {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new TypeError(`Not an http(s) URL: ${url}`);
  return {
    url: url.replace(/\/+$/, ""),
    apiKey: null,
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    maxRetries,
    timeoutMs,
    headers: {},
  };
}

/**
 * A session as a page sees it.
 *
 * Throws a TypeError for a URL that is none. Its methods reject with a KeelsonError of the class of the answer's
 * status: 401 (AuthenticationError) a token that is unknown, expired or used up, 403 (PermissionError) one for
 * something else, 409 `session_closed` (ConflictError) input to a session that has ended.
 */
export const createSessionClient = ({ token, session, ...connection }: SessionClientOptions): SessionClient =>
  createPublicSession(toConfig(connection), session, token);

/**
 * Completes a token with its own public access token. The same data again gives `already_completed`; other data is a
 * ConflictError `token_completion_conflict`.
 */
export async function completeToken({
  id,
  publicAccessToken,
  data,
  signal,
  ...connection
}: Omit<ConnectionOptions, "timeoutMs"> &
  CallOptions & {
    id: string;
    /** `public_access_token` of the token's creation. */
    publicAccessToken: string;
    /** Any JSON. Default null. */
    data?: unknown;
  }): Promise<TokenCompletion> {
  const transport = createTransport(toConfig(connection), {
    renewable: false,
    get: () => publicAccessToken,
  });
  const path = `/api/v1/tokens/${encodeURIComponent(id)}/complete`;
  return completeAt(transport, path, data, signal === undefined ? {} : { signal });
}

/** Calls of a server's routes by what the browser itself sends: the session's cookie. */
export type PageClient = {
  /** The answer's JSON; undefined when there is none. Rejects with a KeelsonError. */
  request<T>(request: ApiRequest): Promise<T>;
  /** The answer's body as it is. */
  requestBytes(request: ApiRequest): Promise<Uint8Array>;
  /** Follows an event stream across disconnects, each event once and in order. See FollowOptions for where it starts. */
  follow(path: string, query: ApiRequest["query"], options?: FollowOptions): AsyncGenerator<StreamEvent>;
  /**
   * Appends to the input of a process, each byte once, until its signal is aborted: a server that is away is waited for.
   * `begin` gives the bytes of input so far.
   */
  openInput(path: string, query: ApiRequest["query"], begin: () => Promise<number>): InputWriter;
};

/**
 * For pages that a server hands out itself, such as its console. `headers` is read at each request: what unsafe requests
 * of a session by cookie need (`X-CSRF-Token`) may change.
 */
export function createPageClient(
  options: ConnectionOptions & { headers: Record<string, string> },
): PageClient {
  const { headers, ...connection } = options;
  const transport = createTransport({ ...toConfig(connection), headers });
  return {
    request: (request) => transport.request(request),
    requestBytes: (request) => transport.requestBytes(request),
    follow: (path, query, follow) => followStream(transport, withQuery(path, query), follow),
    openInput: (path, query, begin) => {
      const config = { ...transport.config, maxRetries: Number.POSITIVE_INFINITY };
      return createInputWriter({ ...transport, config }, withQuery(path, query), begin);
    },
  };
}

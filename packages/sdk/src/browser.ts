/**
 * The client for web pages, which use public access tokens only: it talks to a session and completes tokens. It imports
 * no module of Node.js and no schema library, and uses only `fetch`.
 */
import type { StandardTypedV1 } from "@standard-schema/spec";
import type { TokenCompletion } from "./client/resources.ts";
import type { ApiRequest, CallOptions } from "./client/exchange.ts";
import { followStream, type FollowOptions } from "./client/follow-stream.ts";
import { toPageConfig, type ConnectionOptions } from "./client/page-connection.ts";
import { createInputWriter, type InputWriter } from "./client/process-input.ts";
import type { StreamEvent } from "./client/read-events.ts";
import { createPublicSession, type SessionClient, type TokenSource } from "./client/public-session.ts";
import { completeAt, type CompletionOptions } from "./client/tokens.ts";
import type { SentBy } from "./payload-schema.ts";
import type { ActorLike } from "./client/session-options.ts";
import { createTransport, withQuery } from "./client/transport.ts";
import { watchRunAt, type WatchedRun, type WatchOptions } from "./client/watch-run.ts";
import type { AnyTask } from "./task.ts";

export type { ApiRequest, CallOptions } from "./client/exchange.ts";
export type { FollowOptions } from "./client/follow-stream.ts";
export type { ConnectionOptions } from "./client/page-connection.ts";
export type { InputWriter } from "./client/process-input.ts";
export type { StreamEvent } from "./client/read-events.ts";
export { DataInvalidError } from "./data-invalid-error.ts";
export type { CompletionOptions } from "./client/tokens.ts";
export type { ActorLike } from "./client/session-options.ts";
export type { OutputOptions, SessionClient, TokenNeed, TokenSource } from "./client/public-session.ts";
export type {
  AppendBatchCallOptions,
  AppendCallOptions,
  NewRecord,
  RecordOf,
} from "./client/record-appends.ts";
export { joinMessages, messageEndOf, type StreamMessage } from "./client/join-messages.ts";
export type { WatchedRun, WatchOptions } from "./client/watch-run.ts";
export { KeelsonError, UsageError } from "./keelson-error.ts";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  ApiError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type ApiErrorCode,
} from "./client/errors.ts";
export type { MessageQuery } from "./client/messages.ts";
export type { Page, PagedList, PageQuery } from "./client/paged-list.ts";
export type {
  Message,
  MessageInterrupted,
  PublicRun,
  SentRecord,
  StreamRecord,
  Token,
  TokenCompletion,
} from "./client/resources.ts";

/** Which session of which server, and by which tokens. */
export type SessionClientOptions = ConnectionOptions & {
  /** A public access token, one token for each direction, or a function that returns a token. */
  token: TokenSource;
  /** By the id or by the external id, as the token's scope names it. */
  session: { id: string } | { externalId: string };
};

/**
 * A session as a page sees it. `createSessionClient<typeof chat>()` has the types of the actor `chat`, of which the page
 * imports the type alone.
 *
 * Throws a UsageError for what is not a URL. Its methods reject with an ApiError of the class of the answer's
 * status: 401 (AuthenticationError) a token that is unknown, expired or used up, 403 (PermissionError) one for
 * something else, 409 `session_closed` (ConflictError) input to a session that has ended.
 */
export const createSessionClient = <A extends ActorLike = ActorLike>({
  token,
  session,
  ...connection
}: SessionClientOptions): SessionClient<A> =>
  createPublicSession<A>(toPageConfig(connection), session, token);

/**
 * Completes a token with its own public access token. The same data again returns `already_completed`. Other data
 * rejects with a ConflictError `token_completion_conflict`.
 */
export async function completeToken<S extends StandardTypedV1 = StandardTypedV1>({
  id,
  publicAccessToken,
  data,
  schema,
  signal,
  ...connection
}: Omit<ConnectionOptions, "requestTimeout"> &
  CallOptions &
  CompletionOptions<S> & {
    id: string;
    /** `publicAccessToken` of the token's creation. */
    publicAccessToken: string;
    /** Any JSON that fits the `schema`. Default null. */
    data?: SentBy<S>;
  }): Promise<TokenCompletion> {
  const { url, ...config } = toPageConfig(connection);
  const transport = createTransport(config, {
    renewable: false,
    get: () => ({ url, apiKey: publicAccessToken }),
  });
  const path = `/api/v1/tokens/${encodeURIComponent(id)}/complete`;
  return completeAt(transport, path, data, { ...(signal && { signal }), ...(schema && { schema }) });
}

/** Which run, and how the page gets its public access token. */
export type WatchRunOptions = ConnectionOptions &
  WatchOptions & {
    /** The run's id. */
    run: string;
    /**
     * A public access token for `run.read` of this run, or a function that gets one from your own server. The function is called for each
     * connection, and with `renew` when the server has refused the one before.
     */
    token: string | ((need: { renew: boolean }) => string | Promise<string>);
  };

/**
 * Watches a run: gives it as it is, and again whenever it has changed (its status, its metadata, its attempt), until it has ended. What
 * changes faster than it can be sent comes as the newest alone. It reconnects without limit, or `maxReconnects` times. Leave the loop or
 * abort `signal` to stop. `watchRun<typeof report>()` has the type of the task's output, of which the page imports the type alone.
 *
 * Rejects with an AuthenticationError for a token that is unknown, expired or used up, a PermissionError for one of another run, and a
 * NotFoundError when the run is kept no longer.
 *
 * @example
 * ```ts
 * import { watchRun } from "@keelson/sdk/browser";
 *
 * const token = async () => (await fetch("/run-token")).text();
 * for await (const run of watchRun({ url: "https://keelson.example.com", run: "run_01k…", token }))
 *   console.log(run.status, run.metadata["progress"]);
 * ```
 */
export function watchRun<T extends AnyTask = AnyTask>({
  run,
  token,
  ...options
}: WatchRunOptions): AsyncGenerator<WatchedRun<T>> {
  const { url, ...config } = toPageConfig(options);
  const transport = createTransport(config, {
    renewable: typeof token === "function",
    get: async (renew) => ({ url, apiKey: typeof token === "function" ? await token({ renew }) : token }),
  });
  return watchRunAt<T>(transport, run, { maxReconnects: Number.POSITIVE_INFINITY, ...options });
}

/** Calls a server's routes with the session's cookie, which the browser sends. */
export type PageClient = {
  /** The JSON of the response; undefined without a body. Rejects with an ApiError. */
  request<T>(request: ApiRequest): Promise<T>;
  /** The answer's body as it is. */
  requestBytes(request: ApiRequest): Promise<Uint8Array>;
  /**
   * Follows an event stream across disconnects, each event once and in order. See FollowOptions for where it starts.
   */
  follow(path: string, query: ApiRequest["query"], options?: FollowOptions): AsyncGenerator<StreamEvent>;
  /**
   * Appends to the input of a process, each byte once, until its signal is aborted. It waits while the server cannot be
   * reached. `begin` returns the number of input bytes so far.
   */
  openInput(path: string, query: ApiRequest["query"], begin: () => Promise<number>): InputWriter;
};

/**
 * For pages that the server delivers, such as its console. The client reads `headers` for each request, because the
 * `X-CSRF-Token` for unsafe requests can change.
 */
export function createPageClient(
  options: ConnectionOptions & { headers: Record<string, string> },
): PageClient {
  const { headers, ...connection } = options;
  const { url, ...settings } = toPageConfig(connection);
  const transport = createTransport(
    { ...settings, headers },
    { renewable: false, get: () => ({ url, apiKey: null }) },
  );
  return {
    request: <T>(request: ApiRequest) => transport.request(request) as Promise<T>,
    requestBytes: (request) => transport.requestBytes(request),
    follow: (path, query, follow) => followStream(transport, withQuery(path, query), follow),
    openInput: (path, query, begin) => {
      const config = { ...transport.config, maxRetries: Number.POSITIVE_INFINITY };
      return createInputWriter({ ...transport, config }, withQuery(path, query), begin);
    },
  };
}

import type { WireObjects } from "./camel-cased.ts";
import { nodeSend, type HttpSend } from "./http-send.ts";
import { toMilliseconds, type DurationInput } from "../duration-input.ts";

/** The options of a client. */
export type ClientOptions = {
  /**
   * The URL of the server, e.g. `http://127.0.0.1:8080`. Default: the environment variable KEELSON_URL. A client with a
   * `url` also needs a key.
   */
  url?: string | undefined;
  /**
   * An API key, or the token of a user's session. Null sends no credential. Default: without `url` and `apiKey`,
   * requests from the code of a run use that run's credential. Other requests use the environment variable
   * KEELSON_API_KEY.
   */
  apiKey?: string | null | undefined;
  /** Used instead of the platform's own, for every request. */
  fetch?: typeof globalThis.fetch;
  /** Repeats of a request that may be repeated. Default 4. */
  maxRetries?: number;
  /** For one request, its retries not counted. Default `"30s"`. */
  requestTimeout?: DurationInput;
  /** Sent with every request, e.g. `Service-CLI-Version`. */
  headers?: Record<string, string>;
  /**
   * Filled with the object of the wire for each object that the client answers: for programs that pass the API's JSON
   * on.
   */
  wireObjects?: WireObjects;
};

/** How requests are made, wherever they go. */
export type ClientConfig = {
  fetch: typeof globalThis.fetch;
  /** Sends requests whose answers are read as a whole; null: by `fetch`. */
  send: HttpSend | null;
  maxRetries: number;
  timeoutMs: number;
  headers: Record<string, string>;
  wireObjects?: WireObjects;
};

export const resolveConfig = (options: ClientOptions): ClientConfig => ({
  fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
  send: options.fetch === undefined ? nodeSend() : null,
  maxRetries: options.maxRetries ?? 4,
  timeoutMs: toMilliseconds(options.requestTimeout ?? "30s", "requestTimeout"),
  headers: options.headers ?? {},
  ...(options.wireObjects && { wireObjects: options.wireObjects }),
});

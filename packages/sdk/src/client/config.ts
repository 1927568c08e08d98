/** What a client is made from. */
export type ClientOptions = {
  /** The server, e.g. `http://127.0.0.1:8080`. Default: the environment variable KEELSON_URL. */
  url?: string | undefined;
  /** An API key, or a user's session. Default: the environment variable KEELSON_API_KEY. Null sends none. */
  apiKey?: string | null | undefined;
  /** Used instead of the platform's own, for every request. */
  fetch?: typeof globalThis.fetch;
  /** Repeats of a request that may be repeated. Default 4. */
  maxRetries?: number;
  /** For one request, its retries not counted. Default 30,000. */
  timeoutMs?: number;
  /** Sent with every request, e.g. `Service-CLI-Version`. */
  headers?: Record<string, string>;
};

export type ClientConfig = {
  url: string;
  apiKey: string | null;
  fetch: typeof globalThis.fetch | null;
  maxRetries: number;
  timeoutMs: number;
  headers: Record<string, string>;
};

type NodeLike = { process?: { env?: Record<string, string | undefined> } };

/** Throws a TypeError that says which setting is missing or wrong. */
export function resolveConfig(options: ClientOptions): ClientConfig {
  const env = (globalThis as NodeLike).process?.env ?? {};
  const url = options.url ?? env["KEELSON_URL"];
  const apiKey = options.apiKey === undefined ? env["KEELSON_API_KEY"] : options.apiKey;
  if (url === undefined || url === "") throw new TypeError("No server URL: pass `url` or set KEELSON_URL");
  if (apiKey === undefined || apiKey === "")
    throw new TypeError("No API key: pass `apiKey` or set KEELSON_API_KEY");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new TypeError(`Not an http(s) URL: ${url}`);
  return {
    url: url.replace(/\/+$/, ""),
    apiKey,
    fetch: options.fetch ?? null,
    maxRetries: options.maxRetries ?? 4,
    timeoutMs: options.timeoutMs ?? 30_000,
    headers: options.headers ?? {},
  };
}

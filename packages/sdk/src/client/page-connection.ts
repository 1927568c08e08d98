import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import type { ClientConfig } from "./config.ts";
import { toServerUrl } from "./server-url.ts";

/** The server and how it is called. */
export type ConnectionOptions = {
  /** The server, e.g. `https://keelson.example.com`. */
  url: string;
  /** Used instead of the browser's own. */
  fetch?: typeof globalThis.fetch;
  /** Repeats of a request that may be repeated. Default 4. */
  maxRetries?: number;
  /** For one request, its retries not counted. Default `"30s"`. */
  requestTimeout?: DurationInput;
};

/** How a page calls the server. */
export function toPageConfig({
  url,
  fetch,
  maxRetries = 4,
  requestTimeout = "30s",
}: ConnectionOptions): ClientConfig & { url: string } {
  return {
    url: toServerUrl(url),
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    send: null,
    maxRetries,
    timeoutMs: toMilliseconds(requestTimeout, "requestTimeout"),
    headers: {},
  };
}

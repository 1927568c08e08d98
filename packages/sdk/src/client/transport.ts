import { API_VERSION, HEADERS } from "@keelson/contract/plain";
import { SDK_VERSION } from "../version.ts";
import { sleep } from "./clock.ts";
import type { ClientConfig } from "./config.ts";
import { AuthenticationError, KeelsonError } from "./errors.ts";
import { exchange, type ApiRequest } from "./exchange.ts";
import { nodeSend, sendByFetch, type HttpResponse } from "./http-send.ts";
import { parseBody, responseError } from "./read-response.ts";
import { backoffMs, mayRepeat } from "./retry.ts";

export type Transport = {
  config: ClientConfig;
  /** The value of the answer's JSON. */
  request<T>(request: ApiRequest): Promise<T>;
  /** The answer's body as it is. */
  requestBytes(request: ApiRequest): Promise<Uint8Array>;
  /** What every request carries. `renew` says that the last credential was refused. */
  headers(renew?: boolean): Promise<Record<string, string>>;
  /** Whether there may be another credential in place of one that was refused. */
  renewable: boolean;
  fetch: typeof globalThis.fetch;
};

/** A path with its query; what is undefined is left out. */
export function withQuery(path: string, query: ApiRequest["query"] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of typeof value === "object" ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Asked at each try; null sends none. One that is renewable is asked once more when what it gave was refused. */
export type Credential = {
  renewable: boolean;
  get: (renew: boolean) => string | null | Promise<string | null>;
};

/** Requests with retries, and what a stream needs to be opened by itself. */
export function createTransport(
  config: ClientConfig,
  credential: Credential = { renewable: false, get: () => config.apiKey },
): Transport {
  const { renewable } = credential;
  const send =
    config.fetch === null ? (nodeSend() ?? sendByFetch(globalThis.fetch)) : sendByFetch(config.fetch);
  const headers = async (renew = false): Promise<Record<string, string>> => {
    const text = await credential.get(renew);
    return {
      ...(text === null ? {} : { authorization: `Bearer ${text}` }),
      [HEADERS.apiVersion]: API_VERSION,
      [HEADERS.sdkVersion]: SDK_VERSION,
      accept: "application/json",
      ...config.headers,
    };
  };

  async function answerTo(request: ApiRequest): Promise<HttpResponse> {
    const url = config.url + withQuery(request.path, request.query);
    const timeoutMs = request.timeoutMs ?? config.timeoutMs;
    const repeatable =
      request.repeatable ?? (request.method !== "POST" || request.idempotencyKey !== undefined);
    let renew = false;
    for (let attempt = 1; ;) {
      try {
        const response = await exchange(request, { url, headers: await headers(renew), timeoutMs, send });
        if (response.status >= 400) throw responseError(response, request.method !== "GET");
        return response;
      } catch (error) {
        if (renewable && !renew && error instanceof AuthenticationError) {
          renew = true;
          continue;
        }
        if (attempt > config.maxRetries || !mayRepeat(error, repeatable)) throw error;
        const retryAfterMs = error instanceof KeelsonError ? error.retryAfterMs : null;
        await sleep(backoffMs(attempt, retryAfterMs), request.signal);
        attempt += 1;
        renew = false;
      }
    }
  }

  return {
    config,
    request: async <T>(request: ApiRequest) => parseBody(await answerTo(request)) as T,
    requestBytes: async (request) => (await answerTo(request)).body,
    headers,
    renewable,
    fetch: config.fetch ?? globalThis.fetch.bind(globalThis),
  };
}

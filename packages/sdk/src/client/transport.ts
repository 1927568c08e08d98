import { API_VERSION, HEADERS } from "@keelson/contract/plain";
import { SDK_VERSION } from "../version.ts";
import { fromWire, type CamelCased, type Shape } from "./camel-cased.ts";
import { sleep } from "./clock.ts";
import type { Access } from "./access.ts";
import type { ClientConfig } from "./config.ts";
import { AuthenticationError, ApiError } from "./errors.ts";
import { exchange, timeoutOf, type ApiRequest } from "./exchange.ts";
import { sendByFetch, type HttpResponse } from "./http-send.ts";
import { parseBody, responseError } from "./read-response.ts";
import { backoffMs, mayRepeat } from "./retry.ts";

export type Transport = {
  config: ClientConfig;
  /** The value of the answer's JSON, as the wire spells it. */
  request(request: ApiRequest): Promise<unknown>;
  /** The answer, as the SDK spells it. */
  ask<T>(shape: Shape<T>, request: ApiRequest): Promise<CamelCased<T>>;
  /** A value of the wire, as the SDK spells it. */
  read<T>(shape: Shape<T>, value: unknown): CamelCased<T>;
  /** The answer's body as it is. */
  requestBytes(request: ApiRequest): Promise<Uint8Array>;
  /** Where the next request goes and what it carries. `renew` says that the last credential was refused. */
  reach(renew?: boolean): Promise<{ url: string; headers: Record<string, string> }>;
  /** Whose the next request is: those of different owners are never sent as one. */
  owner(): object;
  /** Whether there may be another credential in place of one that was refused. */
  renewable: boolean;
  fetch: typeof globalThis.fetch;
};

/** A path with its query, which may have one already; what is undefined is left out. */
export function withQuery(path: string, query: ApiRequest["query"] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of [value].flat()) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${text}`;
}

/** Asked at each try. One that is renewable is asked once more when the credential that it gave was refused. */
export type Credential = {
  renewable: boolean;
  get: (renew: boolean) => Access | Promise<Access>;
  /** Absent: all requests are of one owner. */
  owner?: () => object;
};

/** Requests with retries, and what a stream needs to be opened on its own. */
export function createTransport(
  config: ClientConfig,
  { renewable, get, owner = () => config }: Credential,
): Transport {
  const send = config.send ?? sendByFetch(config.fetch);
  const reach: Transport["reach"] = async (renew = false) => {
    const { url, apiKey } = await get(renew);
    const headers = {
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      [HEADERS.apiVersion]: API_VERSION,
      [HEADERS.sdkVersion]: SDK_VERSION,
      accept: "application/json",
      ...config.headers,
    };
    return { url, headers };
  };

  async function answerTo(request: ApiRequest): Promise<HttpResponse> {
    const path = withQuery(request.path, request.query);
    const timeoutMs = timeoutOf(config, request);
    const repeatable =
      request.repeatable ?? (request.method !== "POST" || request.idempotencyKey !== undefined);
    let renew = false;
    for (let attempt = 1; ;) {
      try {
        const { url, headers } = await reach(renew);
        const response = await exchange(request, { url: url + path, headers, timeoutMs, send });
        if (response.status >= 400)
          throw responseError(response, request.method !== "GET", config.wireObjects);
        return response;
      } catch (error) {
        if (renewable && !renew && error instanceof AuthenticationError) {
          renew = true;
          continue;
        }
        if (attempt > config.maxRetries || !mayRepeat(error, repeatable)) throw error;
        const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : null;
        await sleep(backoffMs(attempt, retryAfterMs), request.signal);
        attempt += 1;
        renew = false;
      }
    }
  }

  const request = async (asked: ApiRequest): Promise<unknown> => parseBody(await answerTo(asked));
  const read: Transport["read"] = (shape, value) => fromWire(shape, value, config.wireObjects);

  return {
    config,
    request,
    ask: async (shape, asked) => read(shape, await request(asked)),
    read,
    requestBytes: async (request) => (await answerTo(request)).body,
    reach,
    owner,
    renewable,
    fetch: config.fetch,
  };
}

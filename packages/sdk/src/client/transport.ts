import { API_VERSION, HEADERS } from "@keelson/contract/plain";
import { SDK_VERSION } from "../version.ts";
import { sleep } from "./clock.ts";
import type { ClientConfig } from "./config.ts";
import { KeelsonError } from "./errors.ts";
import { exchange, type ApiRequest } from "./exchange.ts";
import { nodeSend, sendByFetch } from "./http-send.ts";
import { parseBody, responseError } from "./read-response.ts";
import { backoffMs, mayRepeat } from "./retry.ts";

export type Transport = {
  config: ClientConfig;
  request<T>(request: ApiRequest): Promise<T>;
  headers(): Record<string, string>;
  fetch: typeof globalThis.fetch;
};

function buildUrl(base: string, request: ApiRequest): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value === undefined) continue;
    for (const one of typeof value === "object" ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return `${base}${request.path}${text === "" ? "" : `?${text}`}`;
}

/** Requests with retries, and what a stream needs to be opened by itself. */
export function createTransport(config: ClientConfig): Transport {
  const send =
    config.fetch === null ? (nodeSend() ?? sendByFetch(globalThis.fetch)) : sendByFetch(config.fetch);
  const headers = (): Record<string, string> => ({
    authorization: `Bearer ${config.apiKey}`,
    [HEADERS.apiVersion]: API_VERSION,
    [HEADERS.sdkVersion]: SDK_VERSION,
    accept: "application/json",
    ...config.headers,
  });

  async function request<T>(request: ApiRequest): Promise<T> {
    const url = buildUrl(config.url, request);
    const timeoutMs = request.timeoutMs ?? config.timeoutMs;
    const repeatable =
      request.method !== "POST" || request.repeatable === true || request.idempotencyKey !== undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await exchange(request, { url, headers: headers(), timeoutMs, send });
        if (response.status >= 400) throw responseError(response, request.method !== "GET");
        return parseBody(response) as T;
      } catch (error) {
        if (attempt > config.maxRetries || !mayRepeat(error, repeatable)) throw error;
        const retryAfterMs = error instanceof KeelsonError ? error.retryAfterMs : null;
        await sleep(backoffMs(attempt, retryAfterMs), request.signal);
      }
    }
  }

  return { config, request, headers, fetch: config.fetch ?? globalThis.fetch.bind(globalThis) };
}

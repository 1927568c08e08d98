import { API_VERSION, HEADERS } from "@keelson/contract/plain";
import { SDK_VERSION } from "../version.ts";
import { currentTimeMs, sleep } from "./clock.ts";
import type { ClientConfig } from "./config.ts";
import { ConnectionError, errorOf, KeelsonError, TimeoutError } from "./errors.ts";
import { nodeSend, sendByFetch, type HttpResponse, type HttpSend } from "./http-send.ts";
import { randomFraction } from "./random.ts";

/** What every method of the client takes. */
export type RequestOptions = {
  signal?: AbortSignal;
  /** For each try of this call. Default: the client's. */
  timeoutMs?: number;
  /** Makes a write safe to repeat: the server answers a repeat with the first result. */
  idempotencyKey?: string;
};

export type ApiRequest = RequestOptions & {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: Record<string, string | number | readonly string[] | undefined>;
  /** JSON text or raw bytes; a value is encoded as JSON. */
  body?: { json: unknown } | { text: string } | { bytes: Uint8Array };
  /** The body carries an idempotency key, or repeating has no second effect. */
  repeatable?: boolean;
};

export type Transport = {
  config: ClientConfig;
  request<T>(request: ApiRequest): Promise<T>;
  headers(): Record<string, string>;
  fetch: typeof globalThis.fetch;
};

/** Failures to connect: the request was never sent. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function wasNeverSent(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; typeof at === "object" && at !== null && depth < 5; depth += 1) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === "string" && NEVER_SENT.has(code)) return true;
    if (Array.isArray(errors) && errors.length > 0 && errors.every(wasNeverSent)) return true;
    at = cause;
  }
  return false;
}

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? error.cause : error;
  return inner.message || (inner as NodeJS.ErrnoException).code || inner.name;
};

/** `Retry-After` in milliseconds: seconds or a date. */
function parseRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - currentTimeMs());
}

export function backoffMs(attempt: number, retryAfterMs: number | null): number {
  const capped = Math.min(10_000, 200 * 2 ** (attempt - 1));
  const jittered = capped * (0.5 + randomFraction() / 2);
  return retryAfterMs === null ? jittered : Math.max(retryAfterMs, jittered / 4);
}

/** Whether a failed request may be sent again. A 429 and a connection that was refused had no effect, whatever the verb. */
export function mayRepeat(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof KeelsonError)) return false;
  if (error.status === 429) return true;
  if (error instanceof ConnectionError) return repeatable || !error.outcomeUnknown;
  return repeatable && (error.status === 503 || error.status === 502 || error.status === 504 || error instanceof TimeoutError);
}

function parseBody(response: HttpResponse): unknown {
  if (response.text === "") return null;
  try {
    return JSON.parse(response.text);
  } catch (cause) {
    const message = "The server's answer is not JSON; is something between client and server?";
    throw new KeelsonError({ code: "unexpected_response", message, status: response.status, cause });
  }
}

/** The error that an answer of 400 and up stands for. */
export function responseError(response: HttpResponse, write: boolean): KeelsonError {
  const extra = {
    requestId: response.header(HEADERS.requestId),
    retryAfterMs: parseRetryAfter(response.header("retry-after")),
    outcomeUnknown: write && response.status >= 500 && response.status !== 501,
  };
  try {
    const body = JSON.parse(response.text) as { error?: { code: string; message: string } };
    if (typeof body.error?.code === "string") return errorOf(response.status, body.error, extra);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const message = `The server answered ${response.status} without an error body; is something between client and server?`;
  return errorOf(response.status, { code: "unexpected_response", message }, extra);
}

function buildUrl(base: string, request: ApiRequest): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value === undefined) continue;
    for (const one of typeof value === "object" ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return `${base}${request.path}${text === "" ? "" : `?${text}`}`;
}

export function createTransport(config: ClientConfig): Transport {
  const send: HttpSend = config.fetch === null ? (nodeSend() ?? sendByFetch(globalThis.fetch)) : sendByFetch(config.fetch);
  const headers = (): Record<string, string> => ({
    authorization: `Bearer ${config.apiKey}`,
    [HEADERS.apiVersion]: API_VERSION,
    [HEADERS.sdkVersion]: SDK_VERSION,
    accept: "application/json",
    ...config.headers,
  });

  async function once(request: ApiRequest, url: string): Promise<HttpResponse> {
    const { body, signal } = request;
    signal?.throwIfAborted();
    const sent = headers();
    let bytes: string | Uint8Array | null = null;
    if (body !== undefined) {
      bytes = "json" in body ? JSON.stringify(body.json) : "text" in body ? body.text : body.bytes;
      sent["content-type"] = "bytes" in body ? "application/octet-stream" : "application/json";
    }
    if (request.idempotencyKey !== undefined) sent[HEADERS.idempotencyKey] = request.idempotencyKey;
    // One controller for the caller's signal and the time limit: cheaper than AbortSignal.any and timeout.
    const controller = new AbortController();
    const timeoutMs = request.timeoutMs ?? config.timeoutMs;
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      controller.abort();
    }, timeoutMs);
    const onAbort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await send({ method: request.method, url, headers: sent, body: bytes, signal: controller.signal });
    } catch (error) {
      signal?.throwIfAborted();
      const write = request.method !== "GET";
      if (timedOut) {
        const message = `No answer to ${request.method} ${request.path} within ${timeoutMs} ms`;
        throw new TimeoutError({ code: "timeout", message, outcomeUnknown: write, cause: error });
      }
      const message = `Cannot reach ${config.url}: ${messageOf(error)}`;
      const outcomeUnknown = write && !wasNeverSent(error);
      throw new ConnectionError({ code: "connection_error", message, outcomeUnknown, cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async function request<T>(request: ApiRequest): Promise<T> {
    const url = buildUrl(config.url, request);
    const repeatable = request.method !== "POST" || request.repeatable === true || request.idempotencyKey !== undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await once(request, url);
        if (response.status >= 400) throw responseError(response, request.method !== "GET");
        return parseBody(response) as T;
      } catch (error) {
        if (attempt > config.maxRetries || !mayRepeat(error, repeatable)) throw error;
        await sleep(backoffMs(attempt, error instanceof KeelsonError ? error.retryAfterMs : null), request.signal);
      }
    }
  }

  return { config, request, headers, fetch: config.fetch ?? globalThis.fetch.bind(globalThis) };
}

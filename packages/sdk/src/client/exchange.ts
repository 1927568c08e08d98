import { HEADERS } from "@keelson/contract/plain";
import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import { toRequestText } from "../json-text.ts";
import { ConnectionError, TimeoutError } from "./errors.ts";
import type { HttpRequest, HttpResponse, HttpSend } from "./http-send.ts";

/** The options of every method of the client. */
export type RequestOptions = {
  /** Ends the call, or the wait; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The timeout of each try, such as `"10s"`. Default: the client's. */
  requestTimeout?: DurationInput;
  /** Makes a write safe to repeat: the server answers a repeat with the first result. */
  idempotencyKey?: string;
};

/** As RequestOptions, where the idempotency key is part of the body. */
export type CallOptions = Pick<RequestOptions, "signal" | "requestTimeout">;

/** The call's own options among others that are given with them. */
export const callOptions = ({ signal, requestTimeout }: CallOptions): CallOptions => ({
  ...(signal !== undefined && { signal }),
  ...(requestTimeout !== undefined && { requestTimeout }),
});

/** How long one try of a call may take. Throws a UsageError for an invalid duration. */
export const timeoutOf = (config: { timeoutMs: number }, { requestTimeout }: CallOptions): number =>
  requestTimeout === undefined ? config.timeoutMs : toMilliseconds(requestTimeout, "requestTimeout");

/** A request that the client has no method for. */
export type ApiRequest = RequestOptions & {
  /** Decides, unless `repeatable` says otherwise, whether it is repeated. */
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query or without, such as `/v1/runs`. */
  path: string;
  /** Lists are repeated parameters; what is undefined is left out. */
  query?: Record<string, string | number | readonly string[] | undefined>;
  /** JSON text or raw bytes; a value is encoded as JSON. */
  body?: { json: unknown } | { text: string } | { bytes: Uint8Array };
  /** Besides the client's own. */
  headers?: Record<string, string>;
  /** Whether repeating has no second effect. Default: any method but POST, and what has an idempotency key. */
  repeatable?: boolean;
};

/** Failures to connect: the request was never sent. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

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

type Exchange = { url: string; headers: Record<string, string>; timeoutMs: number; send: HttpSend };

function encodeBody(request: ApiRequest, headers: Record<string, string>): HttpRequest["body"] {
  const { body, idempotencyKey } = request;
  if (idempotencyKey !== undefined) headers[HEADERS.idempotencyKey] = idempotencyKey;
  if (body === undefined) return null;
  headers["content-type"] ??= "bytes" in body ? "application/octet-stream" : "application/json";
  return "json" in body ? toRequestText(body.json) : "text" in body ? body.text : body.bytes;
}

/**
 * Sends a request once. Rejects with the signal's reason, a TimeoutError or a ConnectionError when there is no answer.
 */
export async function exchange(
  request: ApiRequest,
  { url, headers, timeoutMs, send }: Exchange,
): Promise<HttpResponse> {
  const { method, path, signal } = request;
  signal?.throwIfAborted();
  const sent = { ...headers, ...request.headers };
  const body = encodeBody(request, sent);
  // One controller for the caller's signal and the time limit: cheaper than AbortSignal.any and timeout.
  const controller = new AbortController();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutMs);
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await send({ method, url, headers: sent, body, signal: controller.signal });
  } catch (error) {
    signal?.throwIfAborted();
    const write = method !== "GET";
    if (timedOut) {
      const message = `No answer to ${method} ${path} within ${timeoutMs} ms`;
      throw new TimeoutError({ code: "timeout", message, outcomeUnknown: write, cause: error });
    }
    const message = `Cannot reach ${new URL(url).origin}: ${messageOf(error)}`;
    const outcomeUnknown = write && !wasNeverSent(error);
    throw new ConnectionError({ code: "connection_error", message, outcomeUnknown, cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

import { HEADERS } from "@keelson/contract/plain";
import type { WireObjects } from "./camel-cased.ts";
import { currentTimeMs } from "./clock.ts";
import { errorOf, ApiError } from "./errors.ts";
import type { HttpResponse } from "./http-send.ts";

/** `Retry-After` in milliseconds: seconds or a date. */
function parseRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - currentTimeMs());
}

/** The value of a good answer; null when it has no body. */
export function parseBody(response: HttpResponse): unknown {
  const text = response.text();
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = "The server's answer is not JSON; is something between client and server?";
    throw new ApiError({ code: "unexpected_response", message, status: response.status, cause });
  }
}

/** The error that an answer of 400 and up stands for. */
export function responseError(
  response: Omit<HttpResponse, "body">,
  write: boolean,
  wireObjects?: WireObjects,
): ApiError {
  const extra = {
    wireObjects,
    requestId: response.header(HEADERS.requestId),
    retryAfterMs: parseRetryAfter(response.header("retry-after")),
    outcomeUnknown: write && response.status >= 500 && response.status !== 501 && response.status !== 507,
  };
  try {
    const body = JSON.parse(response.text()) as { error?: { code: string; message: string } } | null;
    if (typeof body?.error?.code === "string") return errorOf(response.status, body.error, extra);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const message = `The server answered ${response.status} without an error body; is something between client and server?`;
  return errorOf(response.status, { code: "unexpected_response", message }, extra);
}

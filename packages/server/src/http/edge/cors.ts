import type { ServerResponse } from "node:http";

/**
 * Answers to pages of other origins (Fetch standard, CORS protocol). Only routes that say so take them, without
 * credentials of the browser; every other route sends no such header, so only the console's own origin can read it.
 */
export const ANY_ORIGIN = "any-origin";

const ALLOWED_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "mcp-protocol-version",
  "service-api-version",
  "service-cli-version",
  "service-client-version",
  "service-sdk-version",
  "x-request-id",
].join(", ");
const EXPOSED_HEADERS =
  "service-api-version, x-request-id, retry-after, idempotency-replayed, ratelimit-limit, ratelimit-remaining, ratelimit-reset, www-authenticate";
const PREFLIGHT_SECONDS = "600";

/** Lets any page read the answer, refusals included. */
export function allowAnyOrigin(response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
}

/** What a browser asks before a request with other than simple headers. */
export function answerPreflight(response: ServerResponse, methods: string): void {
  allowAnyOrigin(response);
  response.setHeader("access-control-allow-methods", methods);
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
}

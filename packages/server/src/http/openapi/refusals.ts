import { ERROR_CODES, LIMITS, OauthError, type ErrorCode } from "@keelson/contract";
import type { Route } from "../edge/route.ts";
import { isSelecting } from "../edge/selection.ts";
import type { Components, JsonSchema } from "./components.ts";

export const ANSWER_HEADERS = {
  "X-Request-Id": { $ref: "#/components/headers/RequestId" },
  "Service-API-Version": { $ref: "#/components/headers/ServiceApiVersion" },
};

export const hasJsonBody = (route: Route): boolean =>
  route.rawBody === undefined &&
  (route.method === "POST" || route.method === "PUT" || route.method === "PATCH");

/** Whom a browser's cookie can stand for. */
const COOKIE_ACCESS: ReadonlySet<string> = new Set([
  "organization",
  "project",
  "user",
  "caller",
  "visitor",
  "admin",
]);

/**
 * The refusals of a route by status. Each is one shared response of the document that lists its codes. A route declares
 * in `refusals` only those that its shape does not tell.
 */
export function refusals(route: Route, components: Components): JsonSchema {
  const { access, path, oauth } = route;
  const changes = route.method !== "GET" && route.method !== "HEAD";
  const hasBody = hasJsonBody(route) || route.rawBody !== undefined;
  const statuses = new Set<number>([400, 500, 503, ...(route.refusals ?? [])]);
  if (access.kind !== "public") statuses.add(401);
  // An unsafe request by cookie without the CSRF token is refused.
  if ("permission" in access || (changes && COOKIE_ACCESS.has(access.kind))) statuses.add(403);
  if (path.includes(":") || path.includes("/by-external-id") || isSelecting(route)) statuses.add(404);
  if (changes && (access.kind !== "public" || path.includes(":"))) statuses.add(409);
  // A body that comes with DELETE is read as well.
  if (hasBody || route.method === "DELETE") statuses.add(408).add(413).add(415);
  if (route.family !== "system" && access.kind !== "worker") statuses.add(429);
  if (changes) statuses.add(507);
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => [
        status,
        oauth === undefined ? { $ref: `#/components/responses/Error${status}` } : oauthRefusal(components),
      ]),
  );
}

const oauthRefusal = (components: Components): JsonSchema => ({
  description: "Refused, in the form of RFC 6749; what is no request of HTTP, in the form of all routes.",
  headers: ANSWER_HEADERS,
  content: {
    "application/json": {
      schema: { anyOf: [components.refer(OauthError), { $ref: "#/components/schemas/Error" }] },
      example: { error: "invalid_grant", error_description: "This code is unknown, used or expired." },
    },
  },
});

const integer = (description: string): JsonSchema => ({ schema: { type: "integer" }, description });

/** Also on the answers of limited routes that are no refusal. */
const RATE_HEADERS: JsonSchema = {
  "RateLimit-Limit": integer("Requests allowed in a window."),
  "RateLimit-Remaining": integer("Requests left in the window."),
  "RateLimit-Reset": integer("Seconds until the next window."),
};

/** The shared responses that `refusals` refers to, with every code of the status. */
export function errorResponses(): JsonSchema {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const [code, { status }] of Object.entries(ERROR_CODES))
    byStatus.set(status, [...(byStatus.get(status) ?? []), code as ErrorCode]);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        `Error${status}`,
        {
          description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].summary}`).join("\n"),
          headers: {
            ...ANSWER_HEADERS,
            ...(status === 401 ? { "WWW-Authenticate": { schema: { type: "string" } } } : {}),
            ...(status === 405 ? { Allow: { schema: { type: "string" } } } : {}),
            ...(status === 429 || status === 503 || status === 507
              ? { "Retry-After": { schema: { type: "integer" }, description: "Seconds." } }
              : {}),
            ...(status === 429 ? RATE_HEADERS : {}),
          },
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/Error" },
              example: errorExample(codes[0] as ErrorCode),
            },
          },
        },
      ]),
  );
}

const errorExample = (code: ErrorCode): JsonSchema => ({
  error: {
    code,
    message: ERROR_CODES[code].summary,
    details:
      code === "invalid_request"
        ? { issues: [{ path: "limit", message: `must be <= ${LIMITS.pageMax}` }] }
        : null,
    request_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11",
  },
});

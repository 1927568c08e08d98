/** Versions and control headers of the wire. Source: the specification, "Versioning". */

/** The only supported value of `Service-API-Version`: a date-pinned build constant, not the request date. */
export const API_VERSION = "2026-06-06";

/** The worker protocol spoken under `/worker/v1` and `/api/worker`. */
export const WORKER_PROTOCOL_VERSION = 1;

/** Bundle format 1: one ES module with an inline source map. */
export const BUNDLE_FORMAT_VERSION = 1;

export const HEADERS = {
  apiVersion: "service-api-version",
  clientVersion: "service-client-version",
  cliVersion: "service-cli-version",
  sdkVersion: "service-sdk-version",
  requestId: "x-request-id",
  idempotencyKey: "idempotency-key",
  idempotencyReplayed: "idempotency-replayed",
  lastEventId: "last-event-id",
  csrfToken: "x-csrf-token",
} as const;

/** Versions and control headers of the wire. Source: the specification, "Versioning". */

/** The only supported value of `Service-API-Version`: a date-pinned build constant, not the request date. */
export const API_VERSION = "2026-06-06";

/** The worker protocol spoken under `/worker/v1` and `/api/worker`. */
export const WORKER_PROTOCOL_VERSION = 1;

/** What is deployed now is an archive (`archive.ts`). Format 1, one ES module with an inline source map, still runs. */
export const BUNDLE_FORMAT_VERSION = 2;
export const BUNDLE_FORMAT_VERSIONS = [1, 2] as const;
export type BundleFormatVersion = (typeof BUNDLE_FORMAT_VERSIONS)[number];

export const isBundleFormatVersion = (version: number): version is BundleFormatVersion =>
  (BUNDLE_FORMAT_VERSIONS as readonly number[]).includes(version);

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

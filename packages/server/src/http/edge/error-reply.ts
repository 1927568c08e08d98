import { ERROR_CODES, type ErrorBody, type ErrorCode } from "@keelson/contract";
import { TreeError } from "@keelson/workspace-tree";
import type { FastifyError } from "fastify";
import { isConnectionError, isStatementTimeout } from "../../db/connection-error.ts";
import { isRolledBack } from "../../db/run-again.ts";
import { CommitsHangError } from "../../db/commit-watch.ts";
import { isDatabaseDiskFull } from "../../db/disk-full.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { ANY_MEDIA_TYPE } from "./any-body.ts";

/** What goes out for a failure. Nothing of an unexpected error is shown but the request id. */
export type ErrorReply = { status: number; headers: Record<string, string>; body: ErrorBody };

const RETRY_AFTER_SECONDS = "1";
/** Disks are emptied by people, or by what is dropped by its age. */
const FULL_RETRY_AFTER_SECONDS = "5";

/** PostgreSQL's refusals of text: NUL and bytes that are not UTF-8. Such text came from the caller. */
const TEXT_REFUSED = new Set(["22021", "22P05"]);

/** @param mediaType what the route takes a body as */
export function toErrorReply(error: unknown, requestId: string, mediaType = "application/json"): ErrorReply {
  const { code, message, details } = describe(error, mediaType);
  const status = ERROR_CODES[code].status;
  const headers: Record<string, string> = {};
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="keelson"';
  if (status === 503 || status === 429) headers["retry-after"] = retryAfter(details);
  if (status === 507) headers["retry-after"] = FULL_RETRY_AFTER_SECONDS;
  if (status === 429) Object.assign(headers, rateLimitHeaders(details));
  if (code === "range_not_satisfiable" && typeof details?.["size_bytes"] === "number")
    headers["content-range"] = `bytes */${details["size_bytes"]}`;
  // Source: RFC 9110, section 15.5.16.
  if (code === "unsupported_media_type" && typeof details?.["accept_encoding"] === "string")
    headers["accept-encoding"] = details["accept_encoding"];
  if (code === "method_not_allowed" && typeof details?.["allow"] === "string")
    headers["allow"] = details["allow"];
  return { status, headers, body: { error: { code, message, details, request_id: requestId } } };
}

/** A refusal may know better when it is worth another try. */
const retryAfter = (details: Described["details"]): string =>
  typeof details?.["retry_after_seconds"] === "number"
    ? String(details["retry_after_seconds"])
    : RETRY_AFTER_SECONDS;

/** Source: the IETF draft "RateLimit header fields for HTTP", in its three-header form. */
function rateLimitHeaders(details: Described["details"]): Record<string, string> {
  const limit = details?.["limit"];
  if (typeof limit !== "number") return {};
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": "0",
    "ratelimit-reset": retryAfter(details),
  };
}

type Described = { code: ErrorCode; message: string; details: Record<string, unknown> | null };

function describe(error: unknown, mediaType: string): Described {
  if (error instanceof DomainError)
    return { code: error.code, message: error.message, details: error.details };
  if (isDatabaseDiskFull(error)) {
    return {
      code: "storage_full",
      message: "The disk of the database is full; nothing was written. Free space there, then try again.",
      details: { store: "database" },
    };
  }
  if (error instanceof CommitsHangError) {
    return {
      code: "unavailable",
      message:
        "The database confirms no writes right now, because a standby that it waits for is gone. Nothing was written; reads work. Try again.",
      details: null,
    };
  }
  if (isConnectionError(error)) {
    return {
      code: "unavailable",
      message: "The database cannot be reached right now. Try again; a write may or may not have happened.",
      details: null,
    };
  }
  if (isStatementTimeout(error)) {
    return {
      code: "unavailable",
      message: "The database took too long, and nothing was written. Try again.",
      details: null,
    };
  }
  if (isRolledBack(error)) {
    return {
      code: "unavailable",
      message: "The database met too many conflicts, and nothing was written. Try again.",
      details: null,
    };
  }
  if (error instanceof TreeError) return describeTree(error);
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    if (TEXT_REFUSED.has(error.code))
      return {
        code: "invalid_request",
        message: "Remove NUL and invalid characters from the text.",
        details: null,
      };
    const known = describeFastify(error as FastifyError, mediaType);
    if (known !== null) return known;
  }
  return INTERNAL;
}

const INTERNAL: Described = {
  code: "internal",
  message:
    "Something unexpected failed. Try again; if it persists, look for the request id in the server's log.",
  details: null,
};

/** What the caller asked of a tree is the caller's error; what is wrong with stored bytes is not. */
function describeTree({ code, message, details }: TreeError): Described {
  switch (code) {
    case "invalid_path":
      return { code: "invalid_path", message, details };
    case "wrong_kind":
      return { code: "invalid_request", message, details: { issues: [{ path: "path", message }] } };
    case "too_large":
      return { code: "payload_too_large", message, details };
    case "damaged":
    case "missing_blob":
      return INTERNAL;
  }
}

function describeFastify(error: FastifyError, mediaType: string): Described | null {
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return {
        code: "payload_too_large",
        message: "The body is over this route's limit; send less at once.",
        details: null,
      };
    // The second is of the method QUERY, asked before its route is found not to be there.
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_ROUTE_MISSING_CONTENT_TYPE":
      return {
        code: "unsupported_media_type",
        message:
          mediaType === ANY_MEDIA_TYPE
            ? "Send a Content-Type of the form type/subtype, such as application/json, or leave the header out."
            : `Send the body with Content-Type: ${mediaType}.`,
        details: null,
      };
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return {
        code: "invalid_request",
        message: "The body is not as long as Content-Length says.",
        details: null,
      };
    case "FST_ERR_MAX_PARAM_LENGTH": {
      // No id is so long: it is answered as any other that names nothing.
      const { code, message, details } = notFound();
      return { code, message, details };
    }
    case "FST_ERR_BAD_URL":
      return { code: "invalid_request", message: "The URL has an invalid percent-encoding.", details: null };
    default:
      return null;
  }
}

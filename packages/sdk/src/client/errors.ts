import type { ErrorCode, ErrorIssue } from "@keelson/contract/plain";
import { fromWire, type Shape, type WireObjects } from "./camel-cased.ts";
import { KeelsonError } from "../keelson-error.ts";

/** The wire's codes, and the client's own for what never got an answer. */
export type ApiErrorCode = ErrorCode | "connection_error" | "timeout" | "unexpected_response";

export type ApiErrorInit = {
  code: ApiErrorCode;
  message: string;
  /** The HTTP status; null when there was no answer. */
  status?: number | null;
  requestId?: string | null;
  details?: Record<string, unknown> | null;
  outcomeUnknown?: boolean;
  retryAfterMs?: number | null;
  cause?: unknown;
};

/** A request failed. Its class says the kind, `code` the exact reason, `requestId` finds it in the server's log. */
export class ApiError extends KeelsonError {
  override readonly name: string = "ApiError";
  /** The exact reason: a code of the API, or one of the client's own. */
  readonly code: ApiErrorCode;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Finds the request in the server's log; null when there was no answer. */
  readonly requestId: string | null;
  /** Details of the error; null without details. */
  readonly details: Record<string, unknown> | null;
  /** True when a write may or may not have happened: the answer was lost. Repeat it with an idempotency key. */
  readonly outcomeUnknown: boolean;
  /** The value of `Retry-After`. */
  readonly retryAfterMs: number | null;

  constructor(init: ApiErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.status = init.status ?? null;
    this.requestId = init.requestId ?? null;
    this.details = init.details ?? null;
    this.outcomeUnknown = init.outcomeUnknown ?? false;
    this.retryAfterMs = init.retryAfterMs ?? null;
  }

  /** The places of an invalid request; empty for other errors. */
  get issues(): ErrorIssue[] {
    const issues = this.details?.["issues"];
    return Array.isArray(issues) ? (issues as ErrorIssue[]) : [];
  }
}

/** 400, 405, 413, 415. */
export class BadRequestError extends ApiError {
  override readonly name: string = "BadRequestError";
}
/** 401. */
export class AuthenticationError extends ApiError {
  override readonly name: string = "AuthenticationError";
}
/** 403. */
export class PermissionError extends ApiError {
  override readonly name: string = "PermissionError";
}
/** 404. */
export class NotFoundError extends ApiError {
  override readonly name: string = "NotFoundError";
}
/** 409, and 410 for a cursor that is too old. */
export class ConflictError extends ApiError {
  override readonly name: string = "ConflictError";
}
/** 429. */
export class RateLimitError extends ApiError {
  override readonly name: string = "RateLimitError";
}
/** 500 and up. */
export class ServerError extends ApiError {
  override readonly name: string = "ServerError";
}
/** 503: the server is starting, stopping or without its database. */
export class UnavailableError extends ServerError {
  override readonly name: string = "UnavailableError";
}
/** There was no response. `outcomeUnknown` says whether the request may have taken effect. */
export class ConnectionError extends ApiError {
  override readonly name: string = "ConnectionError";
}
/** A request, or a wait, took longer than its `requestTimeout` or `timeout`. */
export class TimeoutError extends ApiError {
  override readonly name: string = "TimeoutError";
}

function errorClass(status: number): typeof ApiError {
  switch (status) {
    case 401:
      return AuthenticationError;
    case 403:
      return PermissionError;
    case 404:
      return NotFoundError;
    case 409:
    case 410:
      return ConflictError;
    case 429:
      return RateLimitError;
    case 503:
      return UnavailableError;
    default:
      return status >= 500 ? ServerError : status >= 400 ? BadRequestError : ApiError;
  }
}

/** Their keys are the server's; what they hold stays as it is. */
const detailsShape: Shape = {};

/** The error of an answer's status and of the wire's error object. */
export function errorOf(
  status: number,
  error: { code: string; message: string; details?: Record<string, unknown> | null; request_id?: string },
  extra: {
    outcomeUnknown?: boolean;
    retryAfterMs?: number | null;
    requestId?: string | null;
    wireObjects?: WireObjects | undefined;
  } = {},
): ApiError {
  return new (errorClass(status))({
    code: error.code as ApiErrorCode,
    message: error.message,
    status,
    details: fromWire(detailsShape, error.details ?? null, extra.wireObjects) as ApiErrorInit["details"] &
      object,
    requestId: error.request_id ?? extra.requestId ?? null,
    outcomeUnknown: extra.outcomeUnknown ?? false,
    retryAfterMs: extra.retryAfterMs ?? null,
  });
}

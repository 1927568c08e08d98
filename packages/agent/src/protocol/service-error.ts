import type { ErrorBody } from "@keelson/contract";

/** The server answered, and refused. `code` is the contract's, or `http_<status>` when the body is not ours. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown> | null;
  readonly retryAfterMs: number | null;

  constructor(
    status: number,
    code: string,
    message: string,
    details: Record<string, unknown> | null,
    retryAfterMs: number | null,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came: refused, reset, timed out or cut. Whether the server acted on the request is unknown. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** True when the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return (
    error instanceof ServiceError && (error.status >= 500 || error.status === 429 || error.status === 408)
  );
}

/** Reads the error body of the contract; a proxy's page in its place becomes a code of its own. */
export function toServiceError(status: number, body: string, retryAfter: string | undefined): ServiceError {
  const seconds = retryAfter === undefined ? Number.NaN : Number(retryAfter);
  const retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, 30_000) : null;
  const error = readErrorBody(body);
  if (error === null)
    return new ServiceError(
      status,
      `http_${status}`,
      `The server answered ${status}: ${body.slice(0, 200)}`,
      null,
      retryAfterMs,
    );
  return new ServiceError(status, error.code, error.message, error.details, retryAfterMs);
}

function readErrorBody(body: string): ErrorBody["error"] | null {
  try {
    const parsed = JSON.parse(body) as Partial<ErrorBody> | null;
    return typeof parsed?.error?.code === "string" ? parsed.error : null;
  } catch {
    // Not JSON at all: a proxy or another service answered; the caller reports the text itself.
    return null;
  }
}

import type { ErrorCode, ErrorIssue } from "@keelson/contract";

/**
 * An expected refusal. `message` says what to do next; it is shown to callers, as are `details`.
 * Only the HTTP layer knows which status a code has.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | null;

  /** `options.cause` is for the log alone. */
  constructor(
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> | null = null,
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.name = "DomainError";
    this.code = code;
    this.details = details;
  }
}

/** A request of the wrong shape; each issue names a place and what to do there. */
export const invalidRequest = (issues: ErrorIssue[]): DomainError =>
  new DomainError("invalid_request", issues.map((issue) => `${issue.path}: ${issue.message}`).join("; "), {
    issues,
  });

/** An absent, foreign or malformed id: always the same words, so that an id tells nothing about other tenants. */
export const notFound = (): DomainError =>
  new DomainError(
    "not_found",
    "No such object in this environment. Check the id and the credential's environment.",
  );

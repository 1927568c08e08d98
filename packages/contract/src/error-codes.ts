/** Every error code of the wire with its HTTP status and what it means. */
export const ERROR_CODES = {
  invalid_request: {
    status: 400,
    summary: "The request does not have the declared shape; details.issues names each place.",
  },
  invalid_cursor: { status: 400, summary: "The cursor was not issued for this list." },
  invalid_path: {
    status: 400,
    summary: "A workspace path is absolute, leaves the root, or has an empty segment or NUL.",
  },
  invalid_cron: { status: 400, summary: "The cron expression or time zone cannot be used." },
  invalid_payload: {
    status: 400,
    summary: "The payload does not fit the entrypoint's declared JSON Schema.",
  },
  unsupported_api_version: {
    status: 400,
    summary: "Service-API-Version is not a version that this server speaks.",
  },
  unsupported_worker_protocol: {
    status: 400,
    summary: "The worker speaks a protocol that this server does not.",
  },
  schedule_is_declarative: {
    status: 400,
    summary: "The schedule is synchronized from deployments; change it in code.",
  },
  authorization_pending: { status: 400, summary: "The device's sign-in is not approved yet; ask again." },
  slow_down: { status: 400, summary: "The device asks too often; add 5 seconds to its interval." },
  expired_token: { status: 400, summary: "The device code is unknown, used or expired; start again." },
  access_denied: { status: 400, summary: "The device's sign-in was denied." },
  unauthenticated: { status: 401, summary: "No credential, or one that is unknown, expired or revoked." },
  forbidden: { status: 403, summary: "The credential lacks the permission in details.permission." },
  csrf_rejected: {
    status: 403,
    summary: "A cookie request came from another origin or without its CSRF header.",
  },
  scope_mismatch: { status: 403, summary: "A public access token was used outside its scope." },
  not_found: { status: 404, summary: "No such object in this environment." },
  route_not_found: { status: 404, summary: "No such route; /openapi.json lists all." },
  method_not_allowed: { status: 405, summary: "The route exists, but not with this method; see Allow." },
  token_completion_conflict: { status: 409, summary: "The token was completed with other data." },
  token_cancelled: { status: 409, summary: "The token was cancelled." },
  token_expired: { status: 409, summary: "The token's time ran out." },
  idempotency_conflict: { status: 409, summary: "The idempotency key was used with another body." },
  session_closed: { status: 409, summary: "The session has ended." },
  session_conflict: {
    status: 409,
    summary: "An open session with that external id runs another entrypoint.",
  },
  stream_direction_mismatch: { status: 409, summary: "The stream has the other direction." },
  already_exists: { status: 409, summary: "The name is taken." },
  invalid_state: { status: 409, summary: "The object's state does not allow this." },
  lease_lost: { status: 409, summary: "The lease was superseded; stop the execution." },
  bundle_missing: { status: 409, summary: "The bundle has not been uploaded." },
  workspace_busy: { status: 409, summary: "The workspace is live; stop it first." },
  offset_mismatch: { status: 409, summary: "The offset is not where the stream ends." },
  cursor_expired: {
    status: 410,
    summary: "The cursor is older than what is kept; see details.earliest_cursor.",
  },
  precondition_failed: { status: 412, summary: "If-Match or If-None-Match does not fit what is there now." },
  payload_too_large: {
    status: 413,
    summary:
      "The body or one of its parts is over its limit, or the environment's storage is full (details.quota).",
  },
  unsupported_media_type: { status: 415, summary: "The body must be application/json." },
  range_not_satisfiable: { status: 416, summary: "The range begins after the end of the file." },
  rate_limited: {
    status: 429,
    summary: "Too many requests, connections or live runs; see Retry-After and details.quota.",
  },
  internal: { status: 500, summary: "An unexpected failure; the request id finds it in the server's log." },
  not_implemented: { status: 501, summary: "Reserved by the specification." },
  unavailable: {
    status: 503,
    summary: "The server cannot reach its database or is stopping; see Retry-After.",
  },
} as const satisfies Record<string, { status: number; summary: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** One place of an invalid request: a JSON Pointer-like path (`payload.items.0`) and what to do there. */
export type ErrorIssue = { path: string; message: string };

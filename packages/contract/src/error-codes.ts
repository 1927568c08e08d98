/** Every error code of the wire with its HTTP status, what it means, and what the caller can do. */
export const ERROR_CODES = {
  invalid_request: {
    status: 400,
    summary: "The request does not have the declared shape; details.issues names each place.",
    action: "Correct the places that `details.issues` names.",
  },
  invalid_cursor: {
    status: 400,
    summary: "The cursor was not issued for this list.",
    action: "Begin the list again without a cursor.",
  },
  invalid_path: {
    status: 400,
    summary: "A workspace path is absolute, leaves the root, or has an empty segment or NUL.",
    action: "Give a relative path with `/` between its parts.",
  },
  invalid_cron: {
    status: 400,
    summary: "The cron expression or time zone cannot be used.",
    action: "Give five fields, or six with seconds, and an IANA time zone.",
  },
  invalid_payload: {
    status: 400,
    summary: "The payload does not fit the entrypoint's declared JSON Schema.",
    action: "Send a payload that fits the task's `payload_schema`.",
  },
  unsupported_api_version: {
    status: 400,
    summary: "Service-API-Version is not a version that this server speaks.",
    action: "Leave the header out, or use a client of the version that the message names.",
  },
  unsupported_worker_protocol: {
    status: 400,
    summary: "The worker speaks a protocol that this server does not.",
    action: "Update the agent, or the server, so that both are of one release.",
  },
  schedule_is_declarative: {
    status: 400,
    summary: "The schedule is synchronized from deployments; change it in code.",
    action: "Change it in code and deploy.",
  },
  authorization_pending: {
    status: 400,
    summary: "The device's sign-in is not approved yet; ask again.",
    action: "Ask again after the interval.",
  },
  slow_down: {
    status: 400,
    summary: "The device asks too often; add 5 seconds to its interval.",
    action: "Add 5 seconds to the interval and ask again.",
  },
  expired_token: {
    status: 400,
    summary: "The device code is unknown, used or expired; start again.",
    action: "Start the sign-in again.",
  },
  access_denied: {
    status: 400,
    summary: "The device's sign-in was denied.",
    action: "Start the sign-in again, if it was denied by mistake.",
  },
  unauthenticated: {
    status: 401,
    summary:
      "The credential is missing, unknown, expired or revoked, or of a kind that the route does not take.",
    action:
      "Send a valid credential as `Authorization: Bearer …`; make a new one if it was revoked or has expired. The message says what the route takes.",
  },
  forbidden: {
    status: 403,
    summary: "The credential lacks the permission in details.permission.",
    action: "Use a credential with that permission.",
  },
  csrf_rejected: {
    status: 403,
    summary: "A cookie request came from another origin or without its CSRF header.",
    action:
      "Send `X-CSRF-Token` with the `csrf_token` of `GET /api/me`, from a page of the server. Set `PUBLIC_URL` if the message says so.",
  },
  scope_mismatch: {
    status: 403,
    summary: "A public access token was used outside its scope.",
    action: "Ask your server for a token of that permission, session, stream and correlation id.",
  },
  not_found: {
    status: 404,
    summary: "No such object in this environment.",
    action: "Check the id, and that the credential is of the same environment.",
  },
  route_not_found: {
    status: 404,
    summary: "The route does not exist; /openapi.json lists all routes.",
    action: "Check the path in the API reference.",
  },
  method_not_allowed: {
    status: 405,
    summary: "The route exists, but not with this method; see Allow.",
    action: "Use a method of the `Allow` header.",
  },
  request_timeout: {
    status: 408,
    summary: "The request came too slowly: its headers, its first byte, or the rate of its body.",
    action: "Send it again, faster; see the deadlines in the limits.",
  },
  token_completion_conflict: {
    status: 409,
    summary: "The token was completed with other data.",
    action: "Nothing: the first completion is final. Read it with `GET /v1/tokens/{id}`.",
  },
  token_cancelled: {
    status: 409,
    summary: "The token was cancelled.",
    action: "Nothing: nobody waits for it any more.",
  },
  token_expired: {
    status: 409,
    summary: "The token's time ran out.",
    action: "Make a new token, with more time.",
  },
  idempotency_conflict: {
    status: 409,
    summary: "The idempotency key was used with another body.",
    action: "Use a new key for another request.",
  },
  already_received: {
    status: 409,
    summary: "A run has received the input, so it cannot be withdrawn.",
    action: "Cancel the run, or send another input.",
  },
  session_busy: {
    status: 409,
    summary: "A turn of the session is live, and no run waits for input on the stream.",
    action: "Send the input when the turn has ended, or with `while_busy` `enqueue`.",
  },
  session_closed: {
    status: 409,
    summary: "The session has ended.",
    action: "Start a new session; its external id is free.",
  },
  session_conflict: {
    status: 409,
    summary: "An open session with that external id runs another entrypoint.",
    action: "Close that session first, or use another external id.",
  },
  state_conflict: {
    status: 409,
    summary: "The session's state has another version than `if_version`; see details.version.",
    action: "Read the state again, and set it with its version.",
  },
  stream_direction_mismatch: {
    status: 409,
    summary: "The stream has the other direction.",
    action: "Use another stream name, or the other direction.",
  },
  already_exists: { status: 409, summary: "The name is taken.", action: "Choose another name." },
  invalid_state: {
    status: 409,
    summary: "The object's state does not allow this.",
    action: "Read the object, and do what its state allows.",
  },
  lease_lost: {
    status: 409,
    summary: "The lease was superseded; stop the execution.",
    action: "Stop the execution; another worker has it, or nobody needs it.",
  },
  bundle_missing: {
    status: 409,
    summary: "The bundle has not been uploaded.",
    action: "Upload the bundle, then create the deployment again.",
  },
  workspace_busy: {
    status: 409,
    summary: "The workspace is live; stop it first.",
    action: "Stop the workspace, or write by a command in it.",
  },
  offset_mismatch: {
    status: 409,
    summary: "The offset is not where the stream ends.",
    action: "Go on from `details.offset`.",
  },
  cursor_expired: {
    status: 410,
    summary: "The entries after the cursor were deleted; see details.earliest_cursor.",
    action: "Continue from `details.earliest_cursor`. Earlier entries were deleted.",
  },
  precondition_failed: {
    status: 412,
    summary: "If-Match or If-None-Match does not match the current content.",
    action: "Read the file again, then decide.",
  },
  payload_too_large: {
    status: 413,
    summary:
      "The body or one of its parts is over its limit, or the environment's storage is full (details.quota).",
    action:
      "Send less data, store large data in a workspace or elsewhere, or delete data that you do not need.",
  },
  unsupported_media_type: {
    status: 415,
    summary: "The body has another type than the route takes, or a Content-Encoding.",
    action: "Set `Content-Type` as the route says, and send the body without `Content-Encoding`.",
  },
  range_not_satisfiable: {
    status: 416,
    summary: "The range begins after the end of the file.",
    action: "Ask for a range within the file's size.",
  },
  rate_limited: {
    status: 429,
    summary: "Too many requests, connections or live runs; see Retry-After and details.quota.",
    action: "Wait for `Retry-After` seconds and repeat.",
  },
  internal: {
    status: 500,
    summary: "An unexpected failure; the request id finds it in the server's log.",
    action:
      "Find the request id in the server's log. Repeat the request only if that is safe, or with an idempotency key.",
  },
  not_implemented: {
    status: 501,
    summary: "Reserved by the specification.",
    action: "Use another way; this one is reserved.",
  },
  unavailable: {
    status: 503,
    summary: "The server cannot reach its database or is stopping; see Retry-After.",
    action: "Wait for `Retry-After` seconds and repeat.",
  },
  storage_full: {
    status: 507,
    summary: "The disk of the database or of the blob store is full; nothing was written. See details.store.",
    action:
      "Free space on that disk, and then repeat the request. Reads continue, and writes work again without a restart.",
  },
} as const satisfies Record<string, { status: number; summary: string; action: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** One place of an invalid request: a JSON Pointer-like path (`payload.items.0`) and what to do there. */
export type ErrorIssue = { path: string; message: string };

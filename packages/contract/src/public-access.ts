/** What browsers do with public access tokens. */

/** What a browser does to a stream of a session. */
export const PUBLIC_STREAM_PERMISSIONS = [
  "session.input.send",
  "session.output.read",
  "session.messages.read",
  "session.interrupt",
] as const;
export type PublicStreamPermission = (typeof PUBLIC_STREAM_PERMISSIONS)[number];

/** What a browser does to the files of a session. */
export const PUBLIC_FILE_PERMISSIONS = ["session.files.read", "session.files.write"] as const;
export type PublicFilePermission = (typeof PUBLIC_FILE_PERMISSIONS)[number];

/** What a browser does to a session. */
export const PUBLIC_SESSION_PERMISSIONS = [...PUBLIC_STREAM_PERMISSIONS, ...PUBLIC_FILE_PERMISSIONS] as const;
export type PublicSessionPermission = (typeof PUBLIC_SESSION_PERMISSIONS)[number];

/** What a browser does to a run. */
export const PUBLIC_RUN_PERMISSION = "run.read";
export type PublicRunPermission = typeof PUBLIC_RUN_PERMISSION;

export const PUBLIC_PERMISSIONS = [...PUBLIC_SESSION_PERMISSIONS, PUBLIC_RUN_PERMISSION] as const;
export type PublicPermission = (typeof PUBLIC_PERMISSIONS)[number];

/**
 * What a token for a session is for: one permission on one stream, one on the session's files, or all of them in a conversation: on
 * its streams and on the session's files.
 */
export type PublicSessionScope = PublicSessionPermission | "session.chat";

/** What a public access token is for. */
export type PublicScope = PublicSessionScope | PublicRunPermission;

export const coversPermission = (scope: PublicScope, permission: PublicPermission): boolean =>
  scope === permission || (scope === "session.chat" && permission !== PUBLIC_RUN_PERMISSION);

export const isFilePermission = (scope: PublicScope): scope is PublicFilePermission =>
  (PUBLIC_FILE_PERMISSIONS as readonly string[]).includes(scope);

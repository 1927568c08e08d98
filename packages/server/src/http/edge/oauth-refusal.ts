import type { OauthError } from "@keelson/contract";
import type { ErrorReply } from "./error-reply.ts";

/** The one resource that there are tokens for. */
export const RESOURCE_PATH = "/mcp";
export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";

/** Refusals by the edge of routes that speak as OAuth does. RFC 6749 has names for few of them. */
export function toOauthError({ status, body: { error } }: ErrorReply, badRequest: string): OauthError {
  const names: Partial<Record<number, string>> = {
    429: "temporarily_unavailable",
    500: "server_error",
    503: "temporarily_unavailable",
    507: "temporarily_unavailable",
  };
  return { error: names[status] ?? badRequest, error_description: plain(error.message) };
}

/** Of the characters that RFC 6749, section 5.2, has for it. */
const plain = (message: string): string => message.replaceAll('"', "'").replaceAll(/[^ -[\]-~]/g, "?");

/**
 * How a client gets a credential, or a wider one: the header `WWW-Authenticate` of a refusal (RFC 6750, section 3; RFC 9728,
 * section 5.1).
 */
export function challengeOf(
  { status, body: { error } }: ErrorReply,
  publicUrl: string,
  hasCredential: boolean,
): Record<string, string> {
  const where = `resource_metadata="${publicUrl}${RESOURCE_METADATA_PATH}${RESOURCE_PATH}"`;
  if (status === 401) {
    const why = hasCredential ? ', error="invalid_token"' : "";
    return { "www-authenticate": `Bearer realm="keelson"${why}, ${where}` };
  }
  const scope = error.details?.["scope"];
  if (status !== 403 || typeof scope !== "string") return {};
  return { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}", ${where}` };
}

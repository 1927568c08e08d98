import type { OauthAuthorizationQuery } from "@keelson/contract";

/** What of a client's request this server reads (RFC 6749, section 4.1.1; RFC 7636; RFC 8707). Others are ignored. */
const NAMES = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "scope",
  "code_challenge",
  "code_challenge_method",
  "resource",
] as const;

/**
 * The request that a client sent the browser with, as it stands in the address.
 *
 * @returns a text that says what is wrong when the address is none: the server cannot say who asks
 */
export function readAuthorizationRequest(search: string): OauthAuthorizationQuery | string {
  const given = new URLSearchParams(search);
  const twice = NAMES.find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) return `The address has ${twice} twice.`;
  // A parameter without a value is as one that is not there (RFC 6749, section 3.1).
  const fields = Object.fromEntries(NAMES.map((name) => [name, given.get(name) || undefined]));
  const { client_id: clientId, redirect_uri: redirectUri } = fields;
  if (clientId === undefined || redirectUri === undefined)
    return "The address does not say which client asks. Start the sign-in in the client.";
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(sent), client_id: clientId, redirect_uri: redirectUri };
}

import type { IncomingMessage } from "node:http";

/**
 * Cookies of ours. On https their names begin with `__Host-`, so that no other host of the domain can set them. They are
 * kept as long as browsers allow: when a session ends is the server's to say.
 */
export const SESSION_COOKIE = "keelson_session";
/** Binds a magic link to the browser that asked for it. */
export const MAGIC_LINK_COOKIE = "keelson_magic_link";
/** Holds the state and the PKCE verifier of a sign-in by GitHub. */
export const GITHUB_COOKIE = "keelson_github";

/** Shows that somebody signed in in this browser, so that strangers cannot use up its sign-in links. */
export const BROWSER_COOKIE = "keelson_browser";

const MAX_AGE_SECONDS = 400 * 86_400;

const nameOf = (name: string, isSecure: boolean): string => (isSecure ? `__Host-${name}` : name);

/** The value of a cookie of the request; null without one. Source: RFC 6265, section 4.2.1. */
export function cookieOf({ headers }: IncomingMessage, name: string, isSecure: boolean): string | null {
  if (headers.cookie === undefined) return null;
  const start = `${nameOf(name, isSecure)}=`;
  for (const pair of headers.cookie.split(";")) {
    const text = pair.trim();
    if (text.startsWith(start)) return text.slice(start.length);
  }
  return null;
}

/** A `Set-Cookie` line. Our values are base64url and credentials, which need no quoting. */
export const setCookie = (
  name: string,
  value: string,
  isSecure: boolean,
  maxAgeSeconds: number = MAX_AGE_SECONDS,
): string =>
  `${nameOf(name, isSecure)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

export const clearCookie = (name: string, isSecure: boolean): string => setCookie(name, "", isSecure, 0);

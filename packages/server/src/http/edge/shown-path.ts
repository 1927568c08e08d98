import { credentialsWithin } from "@keelson/contract";

const CREDENTIAL = credentialsWithin();

/**
 * The path of a request as it may be logged and shown. Where a route has a secret in its path only the route is named;
 * what looks like a credential is cut from any other path too, because a secret that was put in a wrong place is one still.
 *
 * @param pattern of the route that took the request; undefined when none did.
 */
export function shownPath(url: string, pattern: string | undefined): string {
  if (pattern?.includes(":secret") === true) return pattern;
  return (url.split("?", 1)[0] ?? "/").replace(CREDENTIAL, "[redacted]");
}

import { bearerOf, readCredential } from "./credentials.ts";

/** What a router in front of cells sees of a request. */
export type RoutedRequest = {
  /** The request target: path and query. */
  url: string;
  /** The header `Authorization`. */
  authorization: string | undefined;
};

/**
 * The tag of the cell that a request belongs to, or null when the request names none. A router sends a request without a tag to
 * its default cell.
 *
 * A secret in the URL decides first, because the server reads nothing else on routes that have one: the callback URL of a
 * token, and a sign-in link. Then the bearer credential decides. On a route that takes its credential in the body, which a
 * router does not read, a caller shows the same credential as a bearer: a worker does so when it asks for its token. Cookies
 * do not count: people sign in at one cell for each host name, and a cookie stays at its host name.
 */
export function cellOfRequest({ url, authorization }: RoutedRequest): string | null {
  const secret = secretIn(url) ?? bearerOf(authorization);
  return secret === null ? null : (readCredential(secret)?.cell ?? null);
}

/** The credential that a URL has as a part of its path, or as the `token` of its query. */
function secretIn(url: string): string | null {
  if (!/kl|%/.test(url)) return null;
  const [path = "", query = ""] = url.split(/\?(.*)/s, 2);
  const inPath = path.split("/").map(decoded).find(isCredential);
  if (inPath !== undefined) return inPath;
  const token = new URLSearchParams(query).get("token");
  return token !== null && isCredential(token) ? token : null;
}

const isCredential = (text: string): boolean => readCredential(text) !== null;

/** A part of a path without its percent-encoding; as it is when that is broken, which the server refuses. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

import { withQuery } from "./transport.ts";
import type { ApiRequest } from "./exchange.ts";

/** A session by its id, or by its external id: the open one, else the newest. */
export type SessionTarget = string | { id: string } | { externalId: string };

/**
 * The path of what belongs to a session. `root` is the route family: `/api` with a key, `/api/v1` with a public access
 * token.
 */
export function sessionPath(
  root: "/api" | "/api/v1",
  target: SessionTarget,
  rest = "",
  query: ApiRequest["query"] = {},
): string {
  // A session has both.
  if (typeof target === "object" && !("id" in target))
    return withQuery(`${root}/sessions/by-external-id${rest}`, { external_id: target.externalId, ...query });
  const id = typeof target === "string" ? target : target.id;
  return withQuery(`${root}/sessions/${encodeURIComponent(id)}${rest}`, query);
}

export const streamPath = (
  root: "/api" | "/api/v1",
  target: SessionTarget,
  direction: "input" | "output",
  stream: string,
  query: ApiRequest["query"] = {},
  rest = "",
): string => sessionPath(root, target, `/${direction}s/${encodeURIComponent(stream)}${rest}`, query);

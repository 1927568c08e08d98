import { SESSION_STATUSES, type SessionStatus } from "@keelson/contract/plain";
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { definedFields, searchText, searchWord } from "../../app/search-text.ts";

export type SessionsSearch = {
  status?: SessionStatus;
  external_id?: string;
  actor?: string;
  tag?: string;
  /** A new one is being made; of this actor, unless it is empty. */
  start?: string;
};

export const sessionsRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "sessions",
  validateSearch: (search: Record<string, unknown>): SessionsSearch =>
    definedFields({
      status: searchWord(search["status"], SESSION_STATUSES),
      external_id: searchText(search["external_id"]),
      actor: searchText(search["actor"]),
      tag: searchText(search["tag"]),
      start: search["start"] === "" ? "" : searchText(search["start"]),
    }),
  component: lazyRouteComponent(() => import("./sessions-page.tsx"), "SessionsPage"),
});

export type SessionSearch = {
  /** Only what carries this correlation id, or only this stream. */
  correlation?: string;
  stream?: string;
};

export const sessionRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "sessions/$sessionId",
  validateSearch: (search: Record<string, unknown>): SessionSearch =>
    definedFields({
      correlation: searchText(search["correlation"]),
      stream: searchText(search["stream"]),
    }),
  component: lazyRouteComponent(() => import("./session-page.tsx"), "SessionPage"),
});

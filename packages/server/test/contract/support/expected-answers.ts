// What a route's declaration promises each caller of the authorization matrix.

import type { Permission } from "@keelson/contract";
import type { Route } from "../../../src/http/edge/route.ts";
import type { Whose } from "../authorization-rows.ts";
import { HELD, type Caller } from "./callers.ts";

/** What a user is answered who acts in an organization, or in one of its projects. */
const byRole = ({ role }: Caller, permission: Permission): number | "through" =>
  role === undefined ? 404 : HELD[role].includes(permission) ? "through" : 403;

/** What the route's declaration says of the caller: a status, or `through` to the handler. */
export function expected(route: Route, caller: Caller, whose: Whose): number | "through" {
  const { access, family, method } = route;
  const isKnown = access.kind !== "public" && takes(route, caller);
  if (isKnown && caller.cookie === "without token" && method !== "GET") return 403;
  switch (access.kind) {
    case "public":
      return "through";
    case "environment": {
      if (caller.is === "api_key" || caller.is === "run")
        return caller.permissions?.includes(access.permission) === true ? "through" : 403;
      if (caller.is === "oauth_grant") return route.connects === true ? "through" : 401;
      if (caller.is !== "user" || family !== "api") return 401;
      if (caller.at === null) return 400;
      if (caller.isForeign === true) return 404;
      return byRole(caller, access.permission);
    }
    case "organization":
      if (!isKnown) return 401;
      return caller.isForeign === true ? 404 : byRole(caller, access.permission);
    case "project":
      if (!isKnown) return 401;
      return whose === "own" ? byRole(caller, access.permission) : 404;
    case "visitor":
      return isKnown || caller.credential === null ? "through" : 401;
    case "public_access":
    case "public_run_access":
      if (!isKnown) return 401;
      return caller.permissions?.includes(access.permission) === true ? "through" : 403;
    case "user":
    case "caller":
    case "worker":
    case "completion_token":
    case "admin":
    case "capacity":
      return isKnown ? "through" : 401;
  }
}

/** Its credential is of one environment. */
const isBound = ({ is }: Caller): boolean => is === "api_key" || is === "run";

/** Whether the route takes callers of the kind at all. */
function takes({ access, family }: Route, caller: Caller): boolean {
  switch (access.kind) {
    case "public":
      return true;
    case "environment":
      return isBound(caller) || (caller.is === "user" && family === "api");
    case "caller":
      return isBound(caller) || caller.is === "user";
    case "organization":
    case "project":
    case "user":
    case "visitor":
      return caller.is === "user";
    case "worker":
    case "completion_token":
      return caller.is === access.kind;
    case "public_access":
    case "public_run_access":
      return caller.is === "public_access";
    case "admin":
      return caller.is === "admin" || caller.isAdmin === true;
    case "capacity":
      return caller.is === "capacity" || caller.is === "admin";
  }
}

/** Whether the caller's objects are those that the matrix calls foreign. A path says itself where it acts. */
export const isElsewhere = ({ access }: Route, caller: Caller): boolean =>
  caller.isForeign === true && access.kind !== "project";

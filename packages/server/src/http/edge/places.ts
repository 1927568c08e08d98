import type { Family, Route, RouteDefinition } from "./route.ts";

/** Where a route may be. `api/worker` has the worker's routes in /api, too. */
export type Place =
  | "v1"
  | "api"
  | "api-public"
  | "admin"
  | "capacity"
  | "worker"
  | "api/worker"
  | "mcp"
  | "oauth"
  | "system";

/** `operation`: how the operations of a route that is in several places are told apart. */
const PLACES: Readonly<Record<Place, { family: Family; path: string; operation: string; tag: string }>> = {
  v1: { family: "v1", path: "/v1", operation: "", tag: "" },
  api: { family: "api", path: "/api", operation: "api", tag: "" },
  "api-public": { family: "api-public", path: "/api/v1", operation: "public", tag: "" },
  admin: { family: "admin", path: "/admin/api/v1", operation: "admin", tag: "" },
  capacity: { family: "capacity", path: "/capacity/v1", operation: "capacity", tag: "" },
  worker: { family: "worker", path: "/worker/v1", operation: "", tag: "" },
  "api/worker": { family: "api", path: "/api/worker", operation: "apiWorker", tag: "worker " },
  mcp: { family: "v1", path: "", operation: "", tag: "" },
  oauth: { family: "v1", path: "", operation: "", tag: "" },
  system: { family: "system", path: "", operation: "", tag: "" },
};

/** The routes of a definition, one for each place that it is in: `listTasks` of /v1 is `apiListTasks` of /api. */
export function placed({ in: places, name, path, ...definition }: RouteDefinition): Route[] {
  return places.map((place) => {
    const { family, path: prefix, operation, tag } = PLACES[place];
    return {
      ...definition,
      family,
      tag: tag + definition.tag,
      path: prefix + path,
      operationId: places.length === 1 ? name : operationOf(operation, name),
    };
  });
}

export const operationOf = (prefix: string, name: string): string =>
  prefix === "" ? name : prefix + name.charAt(0).toUpperCase() + name.slice(1);

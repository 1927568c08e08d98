import type { TSchema } from "typebox";
import { route, type Access, type Route } from "../route.ts";

type Mounted<
  A extends Access,
  P extends TSchema | undefined,
  Q extends TSchema | undefined,
  B extends TSchema | undefined,
> = Omit<Route<A, P, Q, B>, "family" | "tag">;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * A worker route under both of its mounts: /worker/v1, the pinned contract, and /api/worker, as the specification lists
 * it. `path` is without the mount: `/executions/lease`.
 */
export function bothMounts<
  const A extends Access,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(tag: string, definition: Mounted<A, P, Q, B>): Route[] {
  return [
    route<A, P, Q, B>({ ...definition, family: "worker", tag, path: `/worker/v1${definition.path}` }),
    route<A, P, Q, B>({
      ...definition,
      family: "api",
      tag: `worker ${tag}`,
      path: `/api/worker${definition.path}`,
      operationId: `apiWorker${capitalized(definition.operationId)}`,
    }),
  ];
}

import type { TSchema } from "typebox";
import type { Params } from "../../edge/params.ts";
import {
  route,
  type Access,
  type Definition,
  type RouteDefinition,
  type Transaction,
} from "../../edge/route.ts";

/**
 * A worker route under both of its mounts: /worker/v1, the pinned contract, and /api/worker, as the specification lists
 * it. `path` is without the mount: `/executions/lease`.
 */
export const bothMounts = <
  const A extends Access,
  P extends Params | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  T extends Transaction = undefined,
>(
  tag: string,
  definition: Omit<Definition<A, P, Q, B, T>, "tag"> & { name: string; path: string },
): RouteDefinition[] => [route<A, P, Q, B, T>({ ...definition, tag, in: ["worker", "api/worker"] })];

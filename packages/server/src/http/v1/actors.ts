import type { Route } from "../route.ts";
import { actorRoutesIn } from "../actor-routes.ts";

export const actorRoutes: Route[] = actorRoutesIn("v1");

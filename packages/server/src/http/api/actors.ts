import type { Route } from "../route.ts";
import { actorRoutesIn } from "../actor-routes.ts";

export const apiActorRoutes: Route[] = actorRoutesIn("api");

import type { Route } from "../route.ts";
import { sandboxRoutesIn } from "../sandbox-routes.ts";

export const sandboxRoutes: Route[] = sandboxRoutesIn("v1");

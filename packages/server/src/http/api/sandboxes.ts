import type { Route } from "../route.ts";
import { sandboxRoutesIn } from "../sandbox-routes.ts";

export const apiSandboxRoutes: Route[] = sandboxRoutesIn("api");

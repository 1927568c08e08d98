import type { Route } from "../route.ts";
import { workspaceRoutesIn } from "../workspace-routes.ts";

export const workspaceRoutes: Route[] = workspaceRoutesIn("v1");

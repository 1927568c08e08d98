import { fileRoutes } from "../file-routes.ts";
import { processRoutes } from "../process-routes.ts";
import type { Route } from "../route.ts";
import { workspaceRoutesIn } from "../workspace-routes.ts";

export const apiWorkspaceRoutes: Route[] = [...workspaceRoutesIn("api"), ...fileRoutes, ...processRoutes];

import { deploymentRoutesIn, eventFollowRoute } from "../deployment-routes.ts";
import type { Route } from "../route.ts";

export const apiDeploymentRoutes: Route[] = [...deploymentRoutesIn("api"), eventFollowRoute];

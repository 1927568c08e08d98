import { deploymentRoutesIn, eventPageRoute } from "../deployment-routes.ts";
import type { Route } from "../route.ts";

export const deploymentRoutes: Route[] = [...deploymentRoutesIn("v1"), eventPageRoute];

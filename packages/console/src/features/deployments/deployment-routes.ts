import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const deploymentRoutes = [
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "deployments",
    component: lazyRouteComponent(() => import("./deployments-page.tsx"), "DeploymentsPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "deployments/$deploymentId",
    /** `from`: the version that it is compared with. */
    validateSearch: ({ from }: Record<string, unknown>): { from?: string } =>
      typeof from === "string" ? { from } : {},
    component: lazyRouteComponent(() => import("./deployment-page.tsx"), "DeploymentPage"),
  }),
] as const;

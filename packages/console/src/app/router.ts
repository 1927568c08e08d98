import { createRouter } from "@tanstack/react-router";
import { deploymentRoutes } from "../features/deployments/deployment-routes.ts";
import { entrypointRoutes } from "../features/entrypoints/entrypoint-routes.ts";
import { loginRoute } from "../features/login/login-route.ts";
import { overviewRoute } from "../features/overview/overview-route.ts";
import { runsRoute } from "../features/runs/run-routes.ts";
import { homeRoute } from "./home-route.ts";
import { sandboxRoutes } from "../features/sandboxes/sandbox-routes.ts";
import { scheduleRoutes } from "../features/schedules/schedule-routes.ts";
import {
  environmentRoute,
  organizationRoute,
  rootRoute,
  signedInRoute,
  systemRoute,
} from "./parent-routes.ts";

const routeTree = rootRoute.addChildren([
  loginRoute,
  signedInRoute.addChildren([
    homeRoute,
    environmentRoute.addChildren([
      overviewRoute,
      runsRoute,
      ...entrypointRoutes,
      ...scheduleRoutes,
      ...deploymentRoutes,
      ...sandboxRoutes,
    ]),
    organizationRoute.addChildren([]),
    systemRoute.addChildren([]),
  ]),
]);

/** Every page has an address, and every page's code is loaded when it is first gone to. */
export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  scrollRestoration: true,
  scrollToTopSelectors: ["#content"],
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

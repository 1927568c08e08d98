import { createRouter } from "@tanstack/react-router";
import { loginRoute } from "../features/login/login-route.ts";
import { runsRoute } from "../features/runs/run-routes.ts";
import { workspaceRoute, workspacesRoute } from "../features/workspaces/workspace-routes.ts";
import { homeRoute } from "./home-route.ts";
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
    environmentRoute.addChildren([runsRoute, workspacesRoute, workspaceRoute]),
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

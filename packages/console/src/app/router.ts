import { createRouter } from "@tanstack/react-router";
import { loginRoute } from "../features/login/login-route.ts";
import { runsRoute } from "../features/runs/run-routes.ts";
import { sessionRoute, sessionsRoute } from "../features/sessions/session-routes.ts";
import { tokenRoute, tokensRoute } from "../features/tokens/token-routes.ts";
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
    environmentRoute.addChildren([runsRoute, sessionsRoute, sessionRoute, tokensRoute, tokenRoute]),
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

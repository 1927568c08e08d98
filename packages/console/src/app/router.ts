import { createRouter } from "@tanstack/react-router";
import { apiKeysRoute } from "../features/api-keys/api-key-routes.ts";
import { deploymentRoutes } from "../features/deployments/deployment-routes.ts";
import { deviceRoute } from "../features/device/device-route.ts";
import { entrypointRoutes } from "../features/entrypoints/entrypoint-routes.ts";
import { errorRoute, errorsRoute } from "../features/errors/error-routes.ts";
import { invitationRoute } from "../features/invitation/invitation-route.ts";
import { loginRoute } from "../features/login/login-route.ts";
import { authorizeRoute, connectedClientsRoute } from "../features/oauth/oauth-routes.ts";
import { organizationRoutes } from "../features/organization/organization-routes.ts";
import { overviewRoute } from "../features/overview/overview-route.ts";
import { runRoute, runsRoute } from "../features/runs/run-routes.ts";
import { sandboxRoutes } from "../features/sandboxes/sandbox-routes.ts";
import { scheduleRoutes } from "../features/schedules/schedule-routes.ts";
import { secretsRoute } from "../features/secrets/secret-routes.ts";
import { sessionRoute, sessionsRoute } from "../features/sessions/session-routes.ts";
import { systemRoutes } from "../features/system/system-routes.ts";
import { tokenRoute, tokensRoute } from "../features/tokens/token-routes.ts";
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
  deviceRoute,
  invitationRoute,
  authorizeRoute,
  signedInRoute.addChildren([
    homeRoute,
    connectedClientsRoute,
    environmentRoute.addChildren([
      overviewRoute,
      runsRoute,
      runRoute,
      errorsRoute,
      errorRoute,
      ...entrypointRoutes,
      sessionsRoute,
      sessionRoute,
      tokensRoute,
      tokenRoute,
      workspacesRoute,
      workspaceRoute,
      ...scheduleRoutes,
      ...deploymentRoutes,
      ...sandboxRoutes,
      secretsRoute,
      apiKeysRoute,
    ]),
    organizationRoute.addChildren([...organizationRoutes]),
    systemRoute.addChildren([...systemRoutes]),
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

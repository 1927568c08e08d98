import { createRouter } from "@tanstack/react-router";
import { apiKeysRoute } from "../features/api-keys/api-key-routes.ts";
import { deviceRoute } from "../features/device/device-route.ts";
import { invitationRoute } from "../features/invitation/invitation-route.ts";
import { loginRoute } from "../features/login/login-route.ts";
import {
  invitationsRoute,
  membersRoute,
  organizationHomeRoute,
  organizationAuditLogRoute,
  projectsRoute,
} from "../features/organization/organization-routes.ts";
import { runsRoute } from "../features/runs/run-routes.ts";
import { secretsRoute } from "../features/secrets/secret-routes.ts";
import {
  systemAuditLogRoute,
  systemEnrollmentTokensRoute,
  systemOrganizationsRoute,
  systemOverviewRoute,
  systemUsersRoute,
  systemWorkerGroupsRoute,
  systemWorkersRoute,
} from "../features/system/system-routes.ts";
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
  signedInRoute.addChildren([
    homeRoute,
    environmentRoute.addChildren([runsRoute, secretsRoute, apiKeysRoute]),
    organizationRoute.addChildren([
      organizationHomeRoute,
      projectsRoute,
      membersRoute,
      invitationsRoute,
      organizationAuditLogRoute,
    ]),
    systemRoute.addChildren([
      systemOverviewRoute,
      systemOrganizationsRoute,
      systemUsersRoute,
      systemWorkerGroupsRoute,
      systemWorkersRoute,
      systemEnrollmentTokensRoute,
      systemAuditLogRoute,
    ]),
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

import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { organizationRoute } from "../../app/parent-routes.ts";
import { auditFilter } from "../audit-log/audit-filter.ts";

export const organizationHomeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "/",
  beforeLoad: ({ params }) =>
    redirect({ to: "/organizations/$organizationId/projects", params, throw: true }),
});

export const projectsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "projects",
  component: lazyRouteComponent(() => import("./projects-page.tsx"), "ProjectsPage"),
});

export const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "members",
  component: lazyRouteComponent(() => import("./members-page.tsx"), "MembersPage"),
});

export const invitationsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "invitations",
  component: lazyRouteComponent(() => import("./invitations-page.tsx"), "InvitationsPage"),
});

export const organizationAuditLogRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "audit-log",
  validateSearch: auditFilter,
  component: lazyRouteComponent(() => import("./audit-log-page.tsx"), "AuditLogPage"),
});

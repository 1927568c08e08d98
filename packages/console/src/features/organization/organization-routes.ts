import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { organizationRoute } from "../../app/parent-routes.ts";
import { auditFilter } from "../audit-log/audit-filter.ts";

const organizationHomeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "/",
  beforeLoad: ({ params }) =>
    redirect({ to: "/organizations/$organizationId/projects", params, throw: true }),
});

const projectsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "projects",
  component: lazyRouteComponent(() => import("./projects-page.tsx"), "ProjectsPage"),
});

const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "members",
  component: lazyRouteComponent(() => import("./members-page.tsx"), "MembersPage"),
});

const invitationsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "invitations",
  component: lazyRouteComponent(() => import("./invitations-page.tsx"), "InvitationsPage"),
});

const organizationAuditLogRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: "audit-log",
  validateSearch: auditFilter,
  component: lazyRouteComponent(() => import("./audit-log-page.tsx"), "AuditLogPage"),
});

export const organizationRoutes = [
  organizationHomeRoute,
  projectsRoute,
  membersRoute,
  invitationsRoute,
  organizationAuditLogRoute,
] as const;

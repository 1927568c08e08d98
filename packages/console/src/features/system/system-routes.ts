import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { systemRoute } from "../../app/parent-routes.ts";

export const systemOverviewRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./system-overview-page.tsx"), "SystemOverviewPage"),
});

export const systemOrganizationsRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "organizations",
  component: lazyRouteComponent(() => import("./organizations-page.tsx"), "OrganizationsPage"),
});

export const systemUsersRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "users",
  component: lazyRouteComponent(() => import("./users-page.tsx"), "UsersPage"),
});

export const systemWorkerGroupsRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "worker-groups",
  component: lazyRouteComponent(() => import("./worker-groups-page.tsx"), "WorkerGroupsPage"),
});

export const systemWorkersRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "workers",
  validateSearch: ({ status }: Record<string, unknown>): { status?: string } =>
    typeof status === "string" ? { status } : {},
  component: lazyRouteComponent(() => import("./workers-page.tsx"), "WorkersPage"),
});

export const systemEnrollmentTokensRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "enrollment-tokens",
  component: lazyRouteComponent(() => import("./enrollment-tokens-page.tsx"), "EnrollmentTokensPage"),
});

export const systemAuditLogRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "audit-log",
  component: lazyRouteComponent(() => import("./system-audit-log-page.tsx"), "SystemAuditLogPage"),
});

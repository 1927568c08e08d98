import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { systemRoute } from "../../app/parent-routes.ts";
import { auditFilter } from "../audit-log/audit-filter.ts";

/** A search parameter that is taken as it is, when it is there. */
const textParameter =
  <Name extends string>(name: Name) =>
  (search: Record<string, unknown>): { [key in Name]?: string } =>
    (typeof search[name] === "string" ? { [name]: search[name] } : {}) as { [key in Name]?: string };

const systemOverviewRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./system-overview-page.tsx"), "SystemOverviewPage"),
});

const systemOrganizationsRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "organizations",
  component: lazyRouteComponent(() => import("./organizations-page.tsx"), "OrganizationsPage"),
});

const systemUsersRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "users",
  validateSearch: textParameter("email"),
  component: lazyRouteComponent(() => import("./users-page.tsx"), "UsersPage"),
});

const systemWorkerGroupsRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "worker-groups",
  component: lazyRouteComponent(() => import("./worker-groups-page.tsx"), "WorkerGroupsPage"),
});

const systemWorkersRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "workers",
  validateSearch: textParameter("status"),
  component: lazyRouteComponent(() => import("./workers-page.tsx"), "WorkersPage"),
});

const systemEnrollmentTokensRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "enrollment-tokens",
  component: lazyRouteComponent(() => import("./enrollment-tokens-page.tsx"), "EnrollmentTokensPage"),
});

const systemAuditLogRoute = createRoute({
  getParentRoute: () => systemRoute,
  path: "audit-log",
  validateSearch: auditFilter,
  component: lazyRouteComponent(() => import("./system-audit-log-page.tsx"), "SystemAuditLogPage"),
});

export const systemRoutes = [
  systemOverviewRoute,
  systemOrganizationsRoute,
  systemUsersRoute,
  systemWorkerGroupsRoute,
  systemWorkersRoute,
  systemEnrollmentTokensRoute,
  systemAuditLogRoute,
] as const;

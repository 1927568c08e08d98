import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { readListSearch, readWorkspaceSearch } from "./workspace-search.ts";

export const workspacesRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "workspaces",
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => import("./workspaces-page.tsx"), "WorkspacesPage"),
});

export const workspaceRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "workspaces/$workspaceId",
  validateSearch: readWorkspaceSearch,
  component: lazyRouteComponent(() => import("./workspace-page.tsx"), "WorkspacePage"),
});

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const sandboxRoutes = [
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "sandboxes",
    component: lazyRouteComponent(() => import("./sandboxes-page.tsx"), "SandboxesPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "sandboxes/$declaredId",
    component: lazyRouteComponent(() => import("./sandboxes-page.tsx"), "SandboxPage"),
  }),
] as const;

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const overviewRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./overview-page.tsx"), "OverviewPage"),
});

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { readWindowSearch } from "../metrics/window-search.ts";

export const overviewRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "/",
  validateSearch: readWindowSearch,
  component: lazyRouteComponent(() => import("./overview-page.tsx"), "OverviewPage"),
});

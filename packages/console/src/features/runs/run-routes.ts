import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { readRunsSearch } from "./run-columns.ts";
import { readRunSearch } from "./run-search.ts";

export const runsRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "runs",
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import("./runs-page.tsx"), "RunsPage"),
});

export const runRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "runs/$runId",
  validateSearch: readRunSearch,
  component: lazyRouteComponent(() => import("./run-page.tsx"), "RunPage"),
});

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const runsRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "runs",
  component: lazyRouteComponent(() => import("./runs-page.tsx"), "RunsPage"),
});

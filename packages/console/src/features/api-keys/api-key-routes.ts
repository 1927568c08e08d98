import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const apiKeysRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "api-keys",
  component: lazyRouteComponent(() => import("./api-keys-page.tsx"), "ApiKeysPage"),
});

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const secretsRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: "secrets",
  component: lazyRouteComponent(() => import("./secrets-page.tsx"), "SecretsPage"),
});

import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/parent-routes.ts";

/** `return_to` is a path of this console; anything else leads to the start page. */
export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "login",
  validateSearch: ({ return_to }: Record<string, unknown>): { return_to?: string } =>
    typeof return_to === "string" && /^\/(?![/\\])/.test(return_to) ? { return_to } : {},
  component: lazyRouteComponent(() => import("./login-page.tsx"), "LoginPage"),
});

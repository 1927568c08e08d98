import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/parent-routes.ts";

/** Where the mail of an invitation leads; its token is in the fragment, which no server sees. */
export const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "invitation",
  component: lazyRouteComponent(() => import("./invitation-page.tsx"), "InvitationPage"),
});

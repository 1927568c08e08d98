import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { ensureLoaded } from "../../api/query-client.ts";
import { rootRoute, signedInRoute } from "../../app/parent-routes.ts";
import { placesQuery } from "../../app/session.ts";

/** Where a client sends its person's browser: the authorization endpoint of the server's metadata. */
export const authorizeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "oauth/authorize",
  component: lazyRouteComponent(() => import("./authorize-page.tsx"), "AuthorizePage"),
});

export const connectedClientsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "connected-clients",
  loader: () => ensureLoaded(placesQuery),
  component: lazyRouteComponent(() => import("./connected-clients-page.tsx"), "ConnectedClientsPage"),
});

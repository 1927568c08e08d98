import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/parent-routes.ts";

/** Where a device that signs in sends its person; the code is in the fragment, which no server sees. */
export const deviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "device",
  component: lazyRouteComponent(() => import("./device-page.tsx"), "DevicePage"),
});

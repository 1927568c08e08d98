import { createRoute, redirect } from "@tanstack/react-router";
import { ensureLoaded } from "../api/query-client.ts";
import { NoEnvironment } from "./no-environment.tsx";
import { signedInRoute } from "./parent-routes.ts";
import { preferredEnvironment } from "./preferred-environment.ts";
import { placesQuery } from "./session.ts";

/** Leads to the environment that this browser showed last, or to the first there is. */
export const homeRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "/",
  component: NoEnvironment,
  beforeLoad: async () => {
    const places = await ensureLoaded(placesQuery);
    const preferred = preferredEnvironment();
    const place = places.find(({ environment }) => environment.id === preferred) ?? places[0];
    if (place !== undefined)
      redirect({
        to: "/e/$environmentId",
        params: { environmentId: place.environment.id },
        throw: true,
      });
  },
});

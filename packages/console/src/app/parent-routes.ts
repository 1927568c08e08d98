import { ApiError } from "@keelson/sdk/browser";
import { createRootRoute, createRoute, redirect } from "@tanstack/react-router";
import { ensureLoaded } from "../api/query-client.ts";
import { EnvironmentLayout } from "./environment-layout.tsx";
import { Failure } from "./failure.tsx";
import { NotFound } from "./not-found.tsx";
import { meQuery, placesQuery } from "./session.ts";
import { Shell } from "./shell.tsx";

export const rootRoute = createRootRoute({ notFoundComponent: NotFound, errorComponent: Failure });

/** Of whoever is signed in; others are asked to sign in, and come back to where they wanted to go. */
export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "signed-in",
  component: Shell,
  beforeLoad: async ({ location }) => {
    try {
      await ensureLoaded(meQuery);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const returnTo = location.href === "/" ? {} : { return_to: location.href };
      redirect({ to: "/login", search: returnTo, throw: true });
    }
  },
});

/** Pages of one environment; its id is in the address, so that a link shows everyone the same. */
export const environmentRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "e/$environmentId",
  component: EnvironmentLayout,
  loader: () => ensureLoaded(placesQuery),
});

/** Pages of one organization: its people, projects and environments. */
export const organizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "organizations/$organizationId",
  loader: () => ensureLoaded(placesQuery),
});

/** Pages of the whole installation, for its admins. */
export const systemRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: "system",
  loader: () => ensureLoaded(placesQuery),
});

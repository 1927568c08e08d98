import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";
import { readWindowSearch } from "../metrics/window-search.ts";

export const entrypointRoutes = [
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "tasks",
    validateSearch: readWindowSearch,
    component: lazyRouteComponent(() => import("./entrypoints-page.tsx"), "TasksPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "tasks/$declaredId",
    validateSearch: readWindowSearch,
    component: lazyRouteComponent(() => import("./entrypoint-page.tsx"), "TaskPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "tasks/$declaredId/start",
    component: lazyRouteComponent(() => import("./start-page.tsx"), "StartTaskPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "actors",
    validateSearch: readWindowSearch,
    component: lazyRouteComponent(() => import("./entrypoints-page.tsx"), "ActorsPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "actors/$declaredId",
    validateSearch: readWindowSearch,
    component: lazyRouteComponent(() => import("./entrypoint-page.tsx"), "ActorPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "actors/$declaredId/start",
    component: lazyRouteComponent(() => import("./start-page.tsx"), "StartActorPage"),
  }),
] as const;

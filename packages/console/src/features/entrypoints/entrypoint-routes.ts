import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const entrypointRoutes = [
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "tasks",
    component: lazyRouteComponent(() => import("./entrypoints-page.tsx"), "TasksPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "tasks/$declaredId",
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
    component: lazyRouteComponent(() => import("./entrypoints-page.tsx"), "ActorsPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "actors/$declaredId",
    component: lazyRouteComponent(() => import("./entrypoint-page.tsx"), "ActorPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "actors/$declaredId/start",
    component: lazyRouteComponent(() => import("./start-page.tsx"), "StartActorPage"),
  }),
] as const;

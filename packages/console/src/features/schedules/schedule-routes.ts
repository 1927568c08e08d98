import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { environmentRoute } from "../../app/parent-routes.ts";

export const scheduleRoutes = [
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "schedules",
    component: lazyRouteComponent(() => import("./schedules-page.tsx"), "SchedulesPage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "schedules/new",
    component: lazyRouteComponent(() => import("./edit-schedule-page.tsx"), "NewSchedulePage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "schedules/$scheduleId",
    component: lazyRouteComponent(() => import("./schedule-page.tsx"), "SchedulePage"),
  }),
  createRoute({
    getParentRoute: () => environmentRoute,
    path: "schedules/$scheduleId/edit",
    component: lazyRouteComponent(() => import("./edit-schedule-page.tsx"), "EditSchedulePage"),
  }),
] as const;

import type { Route } from "../route.ts";
import { startRoutesIn } from "../start-routes.ts";
import { taskRoutesIn } from "../task-routes.ts";

export const apiTaskRoutes: Route[] = [...taskRoutesIn("api"), ...startRoutesIn("api")];

import type { Route } from "../route.ts";
import { startRoutesIn } from "../start-routes.ts";
import { taskRoutesIn } from "../task-routes.ts";

export const taskRoutes: Route[] = [...taskRoutesIn("v1"), ...startRoutesIn("v1")];

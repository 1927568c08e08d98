import type { Route } from "../route.ts";
import { tokenRoutesIn } from "../token-routes.ts";

export const apiTokenRoutes: Route[] = tokenRoutesIn("api");

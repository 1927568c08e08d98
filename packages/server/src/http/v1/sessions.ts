import type { Route } from "../route.ts";
import { sessionRoutesIn } from "../session-routes.ts";
import { streamRoutesIn } from "../stream-routes.ts";

export const sessionRoutes: Route[] = [...sessionRoutesIn("v1"), ...streamRoutesIn("v1")];

import type { Route } from "../route.ts";
import { sessionRoutesIn } from "../session-routes.ts";
import { streamRoutesIn } from "../stream-routes.ts";

export const apiSessionRoutes: Route[] = [...sessionRoutesIn("api"), ...streamRoutesIn("api")];

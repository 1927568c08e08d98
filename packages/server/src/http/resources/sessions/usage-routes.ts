import { Usage } from "@keelson/contract";
import { listSessionUsage } from "../../../core/runs/usage-reads.ts";
import { findSession } from "../../../core/sessions/session-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toUsage } from "../runs/usage-wire.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";

/** What the calls of models of a session used, for each way to name the session. */

const usageRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "GET",
    path: `${naming.item}/usage`,
    name: naming.name("getSessionUsage"),
    summary: "Get what a session's calls of models used",
    description: `Tokens and cost of the runs of all its turns and of the runs that those have started, in all and by model.${naming.note}`,
    tag: "Sessions",
    access: { kind: "environment", permission: "sessions.read" },
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The sums so far.", schema: Usage } },
    handle: async ({ server: { db }, scope: { environmentId }, params, query }) => {
      const sessionId = await naming.idOf(db, { environmentId }, { params, query });
      if ((await findSession(db, environmentId, sessionId)) === null) throw notFound();
      return { status: 200, body: toUsage(await listSessionUsage(db, environmentId, sessionId)) };
    },
  });

export const sessionUsageRoutes: RouteDefinition[] = NAMINGS.map(usageRoute);

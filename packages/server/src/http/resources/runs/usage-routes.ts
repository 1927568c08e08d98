import { Usage } from "@keelson/contract";
import { findRunStatus } from "../../../core/runs/run-reads.ts";
import { listRunUsage } from "../../../core/runs/usage-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toUsage } from "./usage-wire.ts";

/** What the calls of models of a run used. */
export const runUsageRoutes: RouteDefinition[] = [
  route({
    in: ["v1", "api"],
    method: "GET",
    path: "/runs/:id/usage",
    name: "getRunUsage",
    summary: "Get what a run's calls of models used",
    description:
      "Tokens and cost, as the run's code has said them by `ctx.usage.add()`, in all and by model. Runs that it has started have their own.",
    tag: "Runs",
    access: { kind: "environment", permission: "runs.read" },
    params: { id: Id("run") },
    responses: { 200: { description: "The sums so far.", schema: Usage } },
    handle: async ({ server: { db }, scope: { environmentId }, params: { id } }) => {
      if ((await findRunStatus(db, environmentId, id)) === null) throw notFound();
      return { status: 200, body: toUsage(await listRunUsage(db, environmentId, id)) };
    },
  }),
];

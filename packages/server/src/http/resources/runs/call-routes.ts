import { ListRunCalls, RunCall, type Uuid } from "@keelson/contract";
import { listKeptCalls, type KeptCall } from "../../../core/journal/journal-reads.ts";
import { findRunStatus } from "../../../core/runs/run-reads.ts";
import { listWaitsAt, type WaitRow } from "../../../core/waits/wait-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { runCallJson } from "./call-wire.ts";

type ShownCall = { call: KeptCall; wait: WaitRow | null };

async function withWaits(db: Queryable, calls: readonly KeptCall[]): Promise<ShownCall[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const positions = calls.filter(({ kind }) => kind === "wait").map(({ position }) => position);
  const waits = await listWaitsAt(db, first, positions);
  return calls.map((call) => ({
    call,
    wait: waits.find(({ position }) => position === call.position) ?? null,
  }));
}

/** What the code of a run did durably, with what it got. */
export const runCallRoutes: RouteDefinition[] = [
  listRoute({
    in: ["v1", "api"],
    tag: "Runs",
    access: { kind: "environment", permission: "runs.read" },
    params: { id: Id("run") },
    path: "/runs/:id/calls",
    name: "listRunCalls",
    summary: "List a run's durable calls",
    description:
      "The calls whose outcomes are kept, in the order in which the code saw them: steps, waits, tokens, child runs, commands and records. " +
      "A call that is under way is not there yet; a step that is, has an event for each failed try.",
    items: "calls",
    title: "durable calls",
    resource: RunCall,
    query: ListRunCalls,
    filter: ({ position }) => ({ position: position ?? null }),
    within: async ({ server, scope, params }): Promise<Uuid<"run">> => {
      if ((await findRunStatus(server.db, scope.environmentId, params.id)) === null) throw notFound();
      return params.id;
    },
    read: async ({ server, scope }, { filter, within: runId, after, limit }) => {
      const key = { environmentId: scope.environmentId, runId };
      return withWaits(server.db, await listKeptCalls(server.db, key, filter, Number(after ?? 0), limit));
    },
    key: { of: ({ call }) => String(call.sequence), pattern: /^[0-9]{1,9}$/ },
    toJson: runCallJson,
  }),
];

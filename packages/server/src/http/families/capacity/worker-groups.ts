import { DrainedWorkers, DrainWorkers, encodeId, GroupCapacity, PageQuery } from "@keelson/contract";
import { listGroupLoads } from "../../../core/capacity/capacity-reads.ts";
import { drainWorkers } from "../../../core/workers/drain-workers.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toGroupCapacity } from "./wire.ts";
import { toWorker } from "../../resources/workers/wire.ts";

const tag = "Capacity";
const access = { kind: "capacity" } as const;
const path = "/worker-groups";
const GroupParams = { id: Id("wgrp") };

export const capacityGroupRoutes: RouteDefinition[] = [
  listRoute({
    in: ["capacity"],
    path,
    name: "listGroupCapacities",
    summary: "List worker groups with their load",
    description: "Newest first, with waiting runs, running runs and the number of workers that they need.",
    tag,
    access,
    items: "worker_groups",
    title: "worker groups",
    resource: GroupCapacity,
    query: PageQuery,
    read: ({ server }, { after: before, limit }) =>
      listGroupLoads(server.db, { groupId: null, before, limit }, server.clock()),
    toWire: (load, { now }) => toGroupCapacity(load, now),
  }),
  route({
    in: ["capacity"],
    method: "GET",
    path: `${path}/:id`,
    name: "getGroupCapacity",
    summary: "Get a worker group's load",
    description:
      "`queued` counts runs that a free slot would take at once, and no runs that wait for a time, their queue or an event. `recommended_workers` " +
      "is the target for an autoscaler, within its own bounds.",
    tag,
    access,
    params: GroupParams,
    responses: { 200: { description: "The worker group.", schema: GroupCapacity } },
    handle: async ({ server, params }) => {
      const now = server.clock();
      const choice = { groupId: params.id, before: null, limit: 1 };
      const [load] = await listGroupLoads(server.db, choice, now);
      if (load === undefined) throw notFound();
      return { status: 200, body: toGroupCapacity(load, now) };
    },
  }),
  route({
    in: ["capacity"],
    method: "POST",
    path: `${path}/:id/drain`,
    name: "drainWorkerGroup",
    summary: "Drain workers of a group",
    description:
      "Drains the least busy workers that are neither draining nor lost. They get no more work, hand back waiting runs, finish running ones within " +
      "their drain timeout, and end. A repeated request drains more workers.",
    tag,
    access,
    params: GroupParams,
    body: DrainWorkers,
    responses: { 200: { description: "The drained workers.", schema: DrainedWorkers } },
    examples: { request: { count: 2 } },
    transaction: "required",
    audit: { action: "workers.drain", resource: "worker_group" },
    handle: async ({ tx, server, params, body, audit }) => {
      const now = server.clock();
      const workers = await drainWorkers(tx, params.id, body.count, now);
      const details = { workers: workers.map(({ id }) => encodeId("wkr", id)) };
      audit(workers.length === 0 ? null : { id: encodeId("wgrp", params.id), details });
      return { status: 200, body: { workers: workers.map((worker) => toWorker(worker, now)) } };
    },
  }),
];

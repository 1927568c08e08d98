import { DrainedWorkers, DrainWorkers, encodeId, GroupCapacity, Page, pageQuery } from "@keelson/contract";
import { Type } from "typebox";
import { listGroupLoads } from "../../core/capacity/capacity-reads.ts";
import { MAX_CHECKS } from "../../core/deployments/lease-checks.ts";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { drainWorkers } from "../../core/workers/drain-workers.ts";
import { notFound } from "../../domain-error.ts";
import { answerPage } from "../answer-page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toGroupCapacity } from "../wire/capacity.ts";
import { toWorker } from "../wire/worker.ts";

const tag = "Capacity";
const access = { kind: "capacity" } as const;
const path = "/capacity/v1/worker-groups";
const GroupParams = Type.Object({ id: Type.String() });

export const capacityGroupRoutes: Route[] = [
  route({
    family: "capacity",
    method: "GET",
    path,
    operationId: "listGroupCapacities",
    summary: "List worker groups with their load",
    description: "Newest first: what waits, what runs, and how many workers that needs.",
    tag,
    access,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: {
      200: { description: "A page of worker groups.", schema: Page("worker_groups", GroupCapacity) },
    },
    handle: ({ server, query }) => {
      const now = server.clock();
      return answerPage(
        "worker_groups",
        query,
        (before, limit) => listGroupLoads(server.db, { groupId: null, before, limit }, MAX_CHECKS, now),
        (load) => toGroupCapacity(load, now),
      );
    },
  }),
  route({
    family: "capacity",
    method: "GET",
    path: `${path}/:id`,
    operationId: "getGroupCapacity",
    summary: "Get a worker group's load",
    description:
      "What is queued could run at once if there were a slot; what waits for its time, its queue or an event is not in it. " +
      "`recommended_workers` is what a scaler aims at, within its own bounds.",
    tag,
    access,
    params: GroupParams,
    responses: { 200: { description: "The worker group.", schema: GroupCapacity } },
    handle: async ({ server, params }) => {
      const now = server.clock();
      const choice = { groupId: pathId("wgrp", params), before: null, limit: 1 };
      const [load] = await listGroupLoads(server.db, choice, MAX_CHECKS, now);
      if (load === undefined) throw notFound();
      return { status: 200, body: toGroupCapacity(load, now) };
    },
  }),
  route({
    family: "capacity",
    method: "POST",
    path: `${path}/:id/drain`,
    operationId: "drainWorkerGroup",
    summary: "Drain workers of a group",
    description:
      "The least busy ones that are neither draining nor lost. They get no more work and are told so at once; they hand back what waits, finish " +
      "what runs within their drain timeout, and end. A repeat drains more.",
    tag,
    access,
    params: GroupParams,
    body: DrainWorkers,
    responses: { 200: { description: "The workers that were told.", schema: DrainedWorkers } },
    examples: { request: { count: 2 } },
    audit: { action: "workers.drain", resource: "worker_group" },
    handle: async ({ server, params, body, audited }) => {
      const groupId = pathId("wgrp", params);
      const now = server.clock();
      const workers = await audited(
        (tx) => drainWorkers(tx, groupId, body.count, now),
        (drained) =>
          drained.length === 0
            ? null
            : { id: params.id, details: { workers: drained.map(({ id }) => encodeId("wkr", id)) } },
      );
      for (const { id } of workers) server.wakes.wake(wakeKeys.worker(id));
      return { status: 200, body: { workers: workers.map((worker) => toWorker(worker, now)) } };
    },
  }),
];

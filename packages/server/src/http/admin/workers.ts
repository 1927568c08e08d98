import { encodeId, Page, pageQuery, Worker, workerFilter } from "@keelson/contract";
import { Type } from "typebox";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { drainWorker } from "../../core/workers/drain-workers.ts";
import { findWorker } from "../../core/workers/worker-reads.ts";
import { notFound } from "../../domain-error.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toWorker } from "../wire/worker.ts";
import { answerWorkerList } from "../worker-list.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/workers";
const WorkerParams = Type.Object({ id: Type.String() });

export const adminWorkerRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListWorkers",
    summary: "List workers",
    description: "Newest first; of one group, of one status, or all that ever enrolled.",
    tag,
    access,
    query: Type.Object({ ...pageQuery(), ...workerFilter }, { additionalProperties: false }),
    responses: { 200: { description: "A page of workers.", schema: Page("workers", Worker) } },
    handle: ({ server, query }) => answerWorkerList(server, query),
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetWorker",
    summary: "Get a worker",
    description: "One worker: its state, its room, and what of it is in use.",
    tag,
    access,
    params: WorkerParams,
    responses: { 200: { description: "The worker.", schema: Worker } },
    handle: async ({ server, params }) => {
      const worker = await findWorker(server.db, pathId("wkr", params));
      if (worker === null) throw notFound();
      return { status: 200, body: toWorker(worker, server.clock()) };
    },
  }),
  route({
    family: "admin",
    method: "POST",
    path: `${path}/:id/drain`,
    operationId: "adminDrainWorker",
    summary: "Drain a worker",
    description:
      "It gets no more work and is told so at once; it hands back what waits, finishes what runs within its drain timeout, and ends. " +
      "Draining it again changes nothing.",
    tag,
    access,
    params: WorkerParams,
    responses: { 200: { description: "The worker, draining or drained.", schema: Worker } },
    audit: { action: "workers.drain", resource: "worker" },
    handle: async ({ server, params, audited }) => {
      const workerId = pathId("wkr", params);
      const now = server.clock();
      const { worker } = await audited(
        (tx) => drainWorker(tx, workerId, now),
        (drained) =>
          drained.changed
            ? {
                id: params.id,
                details: { worker_group_id: encodeId("wgrp", drained.worker.workerGroupId) },
              }
            : null,
      );
      server.wakes.wake(wakeKeys.worker(workerId));
      return { status: 200, body: toWorker(worker, now) };
    },
  }),
];

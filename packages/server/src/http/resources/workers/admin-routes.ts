import { encodeId, Worker } from "@keelson/contract";
import { drainWorker } from "../../../core/workers/drain-workers.ts";
import { findWorker } from "../../../core/workers/worker-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toWorker } from "./wire.ts";
import { workerList } from "./list.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/workers";
const WorkerParams = { id: Id("wkr") };

export const adminWorkerRoutes: RouteDefinition[] = [
  workerList("admin", "adminListWorkers", tag, access),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetWorker",
    summary: "Get a worker",
    description: "Shows a worker with its state, its capacity and its use.",
    tag,
    access,
    params: WorkerParams,
    responses: { 200: { description: "The worker.", schema: Worker } },
    handle: async ({ server, params }) => {
      const worker = await findWorker(server.db, params.id);
      if (worker === null) throw notFound();
      return { status: 200, body: toWorker(worker, server.clock()) };
    },
  }),
  route({
    in: ["admin"],
    method: "POST",
    path: `${path}/:id/drain`,
    name: "adminDrainWorker",
    summary: "Drain a worker",
    description:
      "The worker gets no more work. It hands back waiting runs, finishes running ones within its drain timeout, and ends. Draining a worker again " +
      "changes nothing.",
    tag,
    access,
    params: WorkerParams,
    responses: { 200: { description: "The worker, draining or drained.", schema: Worker } },
    transaction: "required",
    audit: { action: "workers.drain", resource: "worker" },
    handle: async ({ tx, server, params, audit }) => {
      const now = server.clock();
      const { worker, changed } = await drainWorker(tx, params.id, now);
      const details = { worker_group_id: encodeId("wgrp", worker.workerGroupId) };
      audit(changed ? { id: encodeId("wkr", params.id), details } : null);
      return { status: 200, body: toWorker(worker, now) };
    },
  }),
];

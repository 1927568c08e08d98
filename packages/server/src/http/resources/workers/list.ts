import { decodeId, ListWorkers, Worker } from "@keelson/contract";
import { LOST_AFTER_MS } from "../../../core/workers/worker.ts";
import { listWorkers } from "../../../core/workers/worker-reads.ts";
import { listRoute } from "../../edge/list-route.ts";
import type { Place } from "../../edge/places.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { toWorker } from "./wire.ts";

/** The workers of the installation, as administrators and those who scale them see them. */
export const workerList = (
  place: Place,
  name: string,
  tag: string,
  access: { kind: "admin" } | { kind: "capacity" },
): RouteDefinition =>
  listRoute({
    in: [place],
    path: "/workers",
    name,
    summary: "List workers",
    description: "Newest first: all that ever enrolled, or those of one group or status.",
    tag,
    access,
    items: "workers",
    resource: Worker,
    query: ListWorkers,
    filter: ({ worker_group_id, status }) => ({
      workerGroupId: worker_group_id === undefined ? null : decodeId("wgrp", worker_group_id),
      status: status ?? null,
    }),
    read: ({ server }, { filter, after, limit }) =>
      listWorkers(server.db, { ...filter, heardSince: server.clock() - LOST_AFTER_MS }, after, limit),
    toWire: (row, { now }) => toWorker(row, now),
  });

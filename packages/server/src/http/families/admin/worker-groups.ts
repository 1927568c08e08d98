import { CreateWorkerGroup, encodeId, PageQuery, WorkerGroup } from "@keelson/contract";
import { createWorkerGroup } from "../../../core/workers/create-worker-group.ts";
import { findWorkerGroup, listWorkerGroups } from "../../../core/workers/worker-group-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toWorkerGroup } from "./wire.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/worker-groups";

export const adminWorkerGroupRoutes: RouteDefinition[] = [
  listRoute({
    in: ["admin"],
    path,
    name: "adminListWorkerGroups",
    summary: "List worker groups",
    description: "All of the installation, newest first.",
    tag,
    access,
    items: "worker_groups",
    title: "worker groups",
    resource: WorkerGroup,
    query: PageQuery,
    read: ({ server }, { after, limit }) => listWorkerGroups(server.db, after, limit),
    toWire: (row) => toWorkerGroup(row),
  }),
  route({
    in: ["admin"],
    method: "POST",
    path,
    name: "adminCreateWorkerGroup",
    summary: "Create a worker group",
    description:
      "Workers join a group with its enrollment token, and run the code of the group's environments. A name in use is 409 `already_exists`.",
    tag,
    access,
    body: CreateWorkerGroup,
    responses: { 201: { description: "The worker group.", schema: WorkerGroup } },
    examples: { request: { name: "gpu" } },
    transaction: "required",
    audit: { action: "worker_groups.create", resource: "worker_group" },
    handle: async ({ tx, server: { newUuid, clock }, body, audit }) => {
      const group = await createWorkerGroup(tx, body.name, { newUuid, now: clock() });
      audit({ id: encodeId("wgrp", group.id), details: { name: group.name } });
      return { status: 201, body: toWorkerGroup(group) };
    },
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetWorkerGroup",
    summary: "Get a worker group",
    description: "Shows the name of the group. `/capacity/v1` shows its load.",
    tag,
    access,
    params: { id: Id("wgrp") },
    responses: { 200: { description: "The worker group.", schema: WorkerGroup } },
    handle: async ({ server, params }) => {
      const group = await findWorkerGroup(server.db, params.id);
      if (group === null) throw notFound();
      return { status: 200, body: toWorkerGroup(group) };
    },
  }),
];

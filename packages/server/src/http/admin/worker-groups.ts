import { CreateWorkerGroup, encodeId, Page, pageQuery, WorkerGroup } from "@keelson/contract";
import { Type } from "typebox";
import { createWorkerGroup } from "../../core/workers/create-worker-group.ts";
import { findWorkerGroup, listWorkerGroups } from "../../core/workers/worker-group-reads.ts";
import { notFound } from "../../domain-error.ts";
import { answerPage } from "../answer-page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toWorkerGroup } from "../wire/admin.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/worker-groups";

export const adminWorkerGroupRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListWorkerGroups",
    summary: "List worker groups",
    description: "Those of the whole installation, newest first.",
    tag,
    access,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: {
      200: { description: "A page of worker groups.", schema: Page("worker_groups", WorkerGroup) },
    },
    handle: ({ server, query }) =>
      answerPage(
        "worker_groups",
        query,
        (before, limit) => listWorkerGroups(server.db, before, limit),
        toWorkerGroup,
      ),
  }),
  route({
    family: "admin",
    method: "POST",
    path,
    operationId: "adminCreateWorkerGroup",
    summary: "Create a worker group",
    description:
      "Its workers are those that enroll with a token of it, and run what environments start whose group it is. A name that is taken is 409 `already_exists`.",
    tag,
    access,
    body: CreateWorkerGroup,
    responses: { 201: { description: "The worker group.", schema: WorkerGroup } },
    examples: { request: { name: "gpu" } },
    audit: { action: "worker_groups.create", resource: "worker_group" },
    handle: async ({ server, body, audited }) => {
      const { newUuid } = server;
      const group = await audited(
        (tx) => createWorkerGroup(tx, body.name, { newUuid, now: server.clock() }),
        ({ id, name }) => ({ id: encodeId("wgrp", id), details: { name } }),
      );
      return { status: 201, body: toWorkerGroup(group) };
    },
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetWorkerGroup",
    summary: "Get a worker group",
    description: "Its name. What runs in it is told by `/capacity/v1`.",
    tag,
    access,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The worker group.", schema: WorkerGroup } },
    handle: async ({ server, params }) => {
      const group = await findWorkerGroup(server.db, pathId("wgrp", params));
      if (group === null) throw notFound();
      return { status: 200, body: toWorkerGroup(group) };
    },
  }),
];

import { CreateWorkspace, ListWorkspaces, UpdateWorkspace, Workspace, type Uuid } from "@keelson/contract";
import { changeWorkspace } from "../../../core/workspaces/change-workspace.ts";
import { deleteWorkspace } from "../../../core/materializations/delete-workspace.ts";
import { listWorkspaces } from "../../../core/workspaces/workspace-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import {
  route,
  type ChangeCall,
  type EnvironmentScope,
  type Reply,
  type RouteDefinition,
} from "../../edge/route.ts";
import { createKeptWorkspace, metadataText } from "./create-workspace.ts";
import { findShown, workspaceReply } from "./describe-workspace.ts";
import { EXAMPLE_WORKSPACE } from "./examples.ts";
import { machineRoutes } from "./machine-routes.ts";
import { versionRoutes } from "./version-routes.ts";
import { toWorkspace } from "./wire.ts";

/** Workspaces. /v1 has the list, the item and the deletion; a path parameter is named as it says. */

const tag = "Workspaces";
const read = { kind: "environment", permission: "workspaces.read" } as const;
const write = { kind: "environment", permission: "workspaces.write" } as const;
const deletion = { kind: "environment", permission: "workspaces.delete" } as const;

const WorkspaceParams = { workspace_id: Id("ws") };
const IdParams = { id: Id("ws") };

const list = listRoute({
  in: ["v1", "api"],
  path: "/workspaces",
  name: "listWorkspaces",
  summary: "List workspaces",
  description: "Newest first, without deleted workspaces. A workspace must match all filters.",
  tag,
  access: read,
  items: "workspaces",
  resource: Workspace,
  example: EXAMPLE_WORKSPACE,
  query: ListWorkspaces,
  filter: ({ external_id, sandbox, tag: tags }) => ({
    externalId: external_id ?? null,
    sandbox: sandbox ?? null,
    tags: tags ?? [],
  }),
  read: ({ server, scope }, { filter, after, limit }) =>
    listWorkspaces(server.db, scope.environmentId, filter, after, limit),
  toWire: (row) => toWorkspace(row),
});

const show = async (
  db: Queryable,
  scope: EnvironmentScope,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<Reply> => workspaceReply(db, await findShown(db, scope, workspaceId), now);

async function remove({ tx, server, scope }: ChangeCall, workspaceId: Uuid<"ws">): Promise<Reply> {
  await deleteWorkspace(tx, server.newUuid, scope.environmentId, workspaceId, server.clock());
  return show(tx, scope, workspaceId, server.clock());
}

const item = {
  tag,
  responses: { 200: { description: "The workspace.", schema: Workspace } },
  examples: { response: EXAMPLE_WORKSPACE },
} as const;

const ITEM_TEXT =
  "`status_reason` says why a materialization that was asked for is not live yet. A deleted workspace is still shown for 30 days, without its files.";
const DELETE_TEXT =
  "Ends what runs in it first, so a live one is `deleting` until its machine has let go. Its versions are gone at once for everybody; " +
  "forks keep their files. Deleting again changes nothing.";

const v1Item: RouteDefinition[] = [
  route({
    ...item,
    in: ["v1"],
    method: "GET",
    path: "/workspaces/:id",
    name: "getWorkspace",
    summary: "Get a workspace",
    description: ITEM_TEXT,
    access: read,
    params: IdParams,
    handle: ({ server, scope, params }) => show(server.db, scope, params.id, server.clock()),
  }),
  route({
    ...item,
    in: ["v1"],
    method: "DELETE",
    path: "/workspaces/:id",
    name: "deleteWorkspace",
    summary: "Delete a workspace",
    description: DELETE_TEXT,
    access: deletion,
    params: IdParams,
    transaction: "required",
    handle: (call) => remove(call, call.params.id),
  }),
];

const apiItem: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces",
    name: "apiCreateWorkspace",
    summary: "Create a workspace",
    description:
      "Creates a workspace with the files of `from_version_id` (a fork), or else of its sandbox's setup, or else empty. Its first version exists at" +
      " once. It starts on a machine when a program needs it. An `external_id` of an active workspace is 409 `already_exists`.",
    tag,
    access: write,
    body: CreateWorkspace,
    idempotency: "own",
    responses: { 201: { description: "The workspace.", schema: Workspace } },
    examples: {
      request: { sandbox: "default", external_id: "ticket-4711", tags: ["support"] },
      response: { ...EXAMPLE_WORKSPACE, materialization: null },
    },
    handle: (call) =>
      createKeptWorkspace(call, call.body.sandbox ?? null, { operation: "workspaces.create" }),
  }),
  route({
    ...item,
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id",
    name: "apiGetWorkspace",
    summary: "Get a workspace",
    description: ITEM_TEXT,
    access: read,
    params: WorkspaceParams,
    handle: ({ server, scope, params }) => show(server.db, scope, params.workspace_id, server.clock()),
  }),
  route({
    ...item,
    in: ["api"],
    method: "PATCH",
    path: "/workspaces/:workspace_id",
    name: "apiUpdateWorkspace",
    summary: "Change a workspace",
    description: "Replaces `metadata` and `tags` if they are sent.",
    access: write,
    params: WorkspaceParams,
    body: UpdateWorkspace,
    examples: { request: { tags: ["support", "vip"] }, response: EXAMPLE_WORKSPACE },
    transaction: "required",
    handle: async ({ tx, server, scope, params, body }) => {
      const change = { metadata: metadataText(body.metadata), tags: body.tags ?? null };
      await changeWorkspace(tx, scope.environmentId, params.workspace_id, change, server.clock());
      return show(tx, scope, params.workspace_id, server.clock());
    },
  }),
  route({
    ...item,
    in: ["api"],
    method: "DELETE",
    path: "/workspaces/:workspace_id",
    name: "apiDeleteWorkspace",
    summary: "Delete a workspace",
    description: DELETE_TEXT,
    access: deletion,
    params: WorkspaceParams,
    transaction: "required",
    handle: (call) => remove(call, call.params.workspace_id),
  }),
];

export const workspaceRoutes: RouteDefinition[] = [
  list,
  ...v1Item,
  ...apiItem,
  ...machineRoutes,
  ...versionRoutes,
];

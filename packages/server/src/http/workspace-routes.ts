import {
  CreateWorkspace,
  DeclaredId,
  ExternalId,
  LIMITS,
  Page,
  pageQuery,
  UpdateWorkspace,
  Workspace,
  WorkspaceVersion,
} from "@keelson/contract";
import { Type } from "typebox";
import { toVersion } from "./wire/workspace.ts";
import { answerConnect, answerMaterialize, answerStop } from "./materialization-answers.ts";
import { route, type Route } from "./route.ts";
import { operationIn, type SharedFamily } from "./shared-route.ts";
import {
  answerRestore,
  answerVersionList,
  answerWorkspace,
  answerWorkspaceCreate,
  answerWorkspaceDelete,
  answerWorkspaceList,
  answerWorkspaceUpdate,
  requireVersion,
  workspaceIdOf,
} from "./workspace-answers.ts";
import { EXAMPLE_VERSION, EXAMPLE_WORKSPACE } from "./workspace-examples.ts";
import { requireWorkspace } from "../core/workspaces/require-workspace.ts";

/** Workspaces and their versions. /v1 has the list, the item and the deletion; a path parameter is named as it says. */

const tag = "Workspaces";
const read = { kind: "environment", permission: "workspaces.read" } as const;
const write = { kind: "environment", permission: "workspaces.write" } as const;
const remove = { kind: "environment", permission: "workspaces.delete" } as const;

export const WorkspaceParams = Type.Object({ workspace_id: Type.String() });
const VersionParams = Type.Object({ workspace_id: Type.String(), version_id: Type.String() });

const ListQuery = Type.Object(
  {
    ...pageQuery(),
    external_id: Type.Optional(ExternalId),
    sandbox: Type.Optional(DeclaredId),
    tag: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.tagCharacters }), {
        maxItems: LIMITS.tags,
        description: "Repeatable; all must be there.",
      }),
    ),
  },
  { additionalProperties: false },
);

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: `/${family}/workspaces`,
    operationId: operationIn(family, "listWorkspaces"),
    summary: "List workspaces",
    description: "Newest first, without deleted ones. Filters narrow the list together.",
    tag,
    access: read,
    query: ListQuery,
    responses: { 200: { description: "A page of workspaces.", schema: Page("workspaces", Workspace) } },
    examples: { response: { workspaces: [EXAMPLE_WORKSPACE], next_cursor: null } },
    handle: ({ server, scope, query }) => answerWorkspaceList(server, scope, query),
  });

const item = {
  tag,
  responses: { 200: { description: "The workspace.", schema: Workspace } },
  examples: { response: EXAMPLE_WORKSPACE },
} as const;

const ITEM_TEXT =
  "`status_reason` says why a materialization that was asked for is not live yet. A deleted workspace is still shown, without its files.";
const DELETE_TEXT =
  "Ends what runs in it first, so a live one is `deleting` until its machine has let go. Its versions are gone at once for everybody; " +
  "forks keep their files. Deleting again changes nothing.";

const v1Item: Route[] = [
  route({
    ...item,
    family: "v1",
    method: "GET",
    path: "/v1/workspaces/:id",
    operationId: "getWorkspace",
    summary: "Get a workspace",
    description: ITEM_TEXT,
    access: read,
    params: Type.Object({ id: Type.String() }),
    handle: ({ server, scope, params }) => answerWorkspace(server, scope, workspaceIdOf(params.id)),
  }),
  route({
    ...item,
    family: "v1",
    method: "DELETE",
    path: "/v1/workspaces/:id",
    operationId: "deleteWorkspace",
    summary: "Delete a workspace",
    description: DELETE_TEXT,
    access: remove,
    params: Type.Object({ id: Type.String() }),
    handle: ({ server, scope, params }) => answerWorkspaceDelete(server, scope, workspaceIdOf(params.id)),
  }),
];

const apiItem: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/workspaces",
    operationId: "apiCreateWorkspace",
    summary: "Create a workspace",
    description:
      "With the files of `from_version_id` (a fork), else with what its sandbox's setup makes, else empty. Its first version is there at once; " +
      "it is on no machine before something needs it live. An `external_id` that an active workspace has is 409 `already_exists`.",
    tag,
    access: write,
    body: CreateWorkspace,
    idempotency: "own",
    responses: { 201: { description: "The workspace.", schema: Workspace } },
    examples: {
      request: { sandbox: "default", external_id: "ticket-4711", tags: ["support"] },
      response: { ...EXAMPLE_WORKSPACE, materialization: null },
    },
    handle: ({ server, scope, body, request }) =>
      answerWorkspaceCreate(server, scope, body, request, "workspaces.create"),
  }),
  route({
    ...item,
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id",
    operationId: "apiGetWorkspace",
    summary: "Get a workspace",
    description: ITEM_TEXT,
    access: read,
    params: WorkspaceParams,
    handle: ({ server, scope, params }) => answerWorkspace(server, scope, workspaceIdOf(params.workspace_id)),
  }),
  route({
    ...item,
    family: "api",
    method: "PATCH",
    path: "/api/workspaces/:workspace_id",
    operationId: "apiUpdateWorkspace",
    summary: "Change a workspace",
    description: "Replaces `metadata` and `tags`, each where it is sent.",
    access: write,
    params: WorkspaceParams,
    body: UpdateWorkspace,
    examples: { request: { tags: ["support", "vip"] }, response: EXAMPLE_WORKSPACE },
    handle: ({ server, scope, params, body }) =>
      answerWorkspaceUpdate(server, scope, workspaceIdOf(params.workspace_id), body),
  }),
  route({
    ...item,
    family: "api",
    method: "DELETE",
    path: "/api/workspaces/:workspace_id",
    operationId: "apiDeleteWorkspace",
    summary: "Delete a workspace",
    description: DELETE_TEXT,
    access: remove,
    params: WorkspaceParams,
    handle: ({ server, scope, params }) =>
      answerWorkspaceDelete(server, scope, workspaceIdOf(params.workspace_id)),
  }),
];

const machineResponses = {
  200: { description: "The workspace, which is so already.", schema: Workspace },
  202: { description: "The workspace; what was asked for is under way.", schema: Workspace },
};

const machine: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/workspaces/:workspace_id/materialize",
    operationId: "apiMaterializeWorkspace",
    summary: "Put a workspace on a machine",
    description:
      "Asks for it and answers at once. A live one stays live, and its time until it is stopped as idle begins anew.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    handle: ({ server, scope, params }) =>
      answerMaterialize(server, scope, workspaceIdOf(params.workspace_id)),
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/workspaces/:workspace_id/connect",
    operationId: "apiConnectWorkspace",
    summary: "Wait for a live workspace",
    description:
      "Puts it on a machine and waits up to 30 s until it is live; 202 when it is not by then, or when that failed. Repeat it to wait on.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    handle: ({ server, scope, params, request }) =>
      answerConnect(server, scope, workspaceIdOf(params.workspace_id), request),
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/workspaces/:workspace_id/stop",
    operationId: "apiStopWorkspace",
    summary: "Take a workspace off its machine",
    description:
      "Ends what runs in it, commits what changed and releases the machine. Waits up to 30 s for that; 202 when it is not done by then.",
    tag,
    access: write,
    params: WorkspaceParams,
    responses: machineResponses,
    examples: { response: EXAMPLE_WORKSPACE },
    handle: ({ server, scope, params, request }) =>
      answerStop(server, scope, workspaceIdOf(params.workspace_id), request),
  }),
];

const versions: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/versions",
    operationId: "apiListWorkspaceVersions",
    summary: "List versions",
    description:
      "Newest first. A version is there once everything it needs is stored; none is ever half there.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object(
      pageQuery({ default: LIMITS.workspaceVersionsDefault, maximum: LIMITS.workspaceVersionsMax }),
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of versions.", schema: Page("versions", WorkspaceVersion) } },
    examples: { response: { versions: [EXAMPLE_VERSION], next_cursor: null } },
    handle: ({ server, scope, params, query }) =>
      answerVersionList(server, scope, workspaceIdOf(params.workspace_id), query),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/versions/:version_id",
    operationId: "apiGetWorkspaceVersion",
    summary: "Get a version",
    description: "`digest` says what its tree is: two versions with the same one have the same files.",
    tag,
    access: read,
    params: VersionParams,
    responses: { 200: { description: "The version.", schema: WorkspaceVersion } },
    examples: { response: EXAMPLE_VERSION },
    handle: async ({ server, scope, params }) => {
      const workspaceId = workspaceIdOf(params.workspace_id);
      await requireWorkspace(server.db, scope.environmentId, workspaceId);
      const version = await requireVersion(server, scope, workspaceId, params.version_id);
      return { status: 200, body: toVersion(version) };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/workspaces/:workspace_id/versions/:version_id/restore",
    operationId: "apiRestoreWorkspaceVersion",
    summary: "Restore a version",
    description:
      "Makes the files of the version the current ones, as a new version; when they are already, nothing changes and the answer is 200. " +
      "A live workspace is 409 `workspace_busy`: stop it first.",
    tag,
    access: write,
    params: VersionParams,
    responses: {
      201: { description: "The new version.", schema: WorkspaceVersion },
      200: { description: "The current version, which has these files already.", schema: WorkspaceVersion },
    },
    examples: { response: { ...EXAMPLE_VERSION, cause: { kind: "write", id: null } } },
    handle: ({ server, scope, params }) =>
      answerRestore(server, scope, workspaceIdOf(params.workspace_id), params.version_id),
  }),
];

export const workspaceRoutesIn = (family: SharedFamily): Route[] =>
  family === "v1" ? [listRoute(family), ...v1Item] : [listRoute(family), ...apiItem, ...machine, ...versions];

import { LIMITS, pageQuery, WorkspaceVersion } from "@keelson/contract";
import { Type } from "typebox";
import { toStoredTree } from "../../../core/versions/store-tree.ts";
import { listVersions } from "../../../core/versions/version-reads.ts";
import { changeFiles } from "../../../core/workspaces/change-files.ts";
import { requireWorkspace } from "../../../core/workspaces/require-workspace.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { EXAMPLE_VERSION } from "./examples.ts";
import { requireVersion } from "../../../core/versions/require-version.ts";
import { toVersion } from "./wire.ts";

const tag = "Workspaces";
const read = { kind: "environment", permission: "workspaces.read" } as const;
const write = { kind: "environment", permission: "workspaces.write" } as const;
const VersionParams = { workspace_id: Id("ws"), version_id: Id("wsv") };

export const versionRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path: "/workspaces/:workspace_id/versions",
    name: "apiListWorkspaceVersions",
    summary: "List versions",
    description: "Newest first. A version is listed once everything that it needs is stored.",
    tag,
    access: read,
    params: { workspace_id: Id("ws") },
    items: "versions",
    resource: WorkspaceVersion,
    example: EXAMPLE_VERSION,
    query: Type.Object(
      pageQuery({ default: LIMITS.workspaceVersionsDefault, maximum: LIMITS.workspaceVersionsMax }),
      { additionalProperties: false },
    ),
    pageSize: LIMITS.workspaceVersionsDefault,
    within: async ({ server, scope, params }) =>
      (await requireWorkspace(server.db, scope.environmentId, params.workspace_id)).id,
    read: ({ server, scope }, { within, after, limit }) =>
      listVersions(server.db, scope.environmentId, within, after, limit),
    toWire: (version) => toVersion(version),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id/versions/:version_id",
    name: "apiGetWorkspaceVersion",
    summary: "Get a version",
    description: "Two versions with the same `digest` have the same files.",
    tag,
    access: read,
    params: VersionParams,
    responses: { 200: { description: "The version.", schema: WorkspaceVersion } },
    examples: { response: EXAMPLE_VERSION },
    handle: async ({ server, scope, params }) => {
      await requireWorkspace(server.db, scope.environmentId, params.workspace_id);
      const version = await requireVersion(server.db, scope, params.workspace_id, params.version_id);
      return { status: 200, body: toVersion(version) };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/workspaces/:workspace_id/versions/:version_id/restore",
    name: "apiRestoreWorkspaceVersion",
    summary: "Restore a version",
    description:
      "Restores the files of the version as a new version. When the current files are the same, nothing changes and the answer is 200. A live " +
      "workspace is 409 `workspace_busy`: stop it first.",
    tag,
    access: write,
    params: VersionParams,
    responses: {
      201: { description: "The new version.", schema: WorkspaceVersion },
      200: { description: "The current version, which has these files already.", schema: WorkspaceVersion },
    },
    examples: { response: { ...EXAMPLE_VERSION, cause: { kind: "write", id: null } } },
    handle: async ({ server, scope, params }) => {
      const { environmentId } = scope;
      const version = await requireVersion(server.db, scope, params.workspace_id, params.version_id);
      const manifestDigest = version.manifestDigest.toString("hex");
      const { tree, blobs } = await server.trees.load(environmentId, manifestDigest);
      const restored = await changeFiles(server, environmentId, params.workspace_id, async () =>
        toStoredTree(tree, manifestDigest, blobs),
      );
      return { status: restored.created ? 201 : 200, body: toVersion(restored.version) };
    },
  }),
];

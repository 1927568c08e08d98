import { FileEntry, FileList, LIMITS, VersionDiff, WrittenFile, type Uuid } from "@keelson/contract";
import { Type } from "typebox";
import type { WorkspacePlace } from "../../../core/workspaces/read-version.ts";
import { diffVersion, readFile, listFiles, removeReply, statFile, writeReply } from "./workspace-files.ts";
import { Id } from "../../edge/params.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { EXAMPLE_DIFF, EXAMPLE_FILE, EXAMPLE_VERSION } from "../workspaces/examples.ts";

/** Files of versions. Nothing here touches a file system of the server: a path is looked up in a version's manifest. */

const tag = "Workspace files";
const WorkspaceParams = { workspace_id: Id("ws") };
const read = { kind: "environment", permission: "workspaces.read" } as const;
const write = { kind: "environment", permission: "workspaces.write" } as const;

const sourceFields = {
  source: Type.Optional(
    Type.Enum(["current", "version", "live"], {
      description: "Default `current`. `version` reads `version_id`; `live` is reserved and answers 501.",
    }),
  ),
  version_id: Type.Optional(
    Type.String({ maxLength: 64, description: "Required with `source=version`, and not allowed otherwise." }),
  ),
};
const Path = Type.String({ description: "From the workspace's root, `/`-separated, without `.` and `..`." });
const strict = { additionalProperties: false };
const pageFields = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.workspaceFilesMax,
      description: `Default ${LIMITS.workspaceFilesDefault}.`,
    }),
  ),
  cursor: Type.Optional(Type.String({ description: "Opaque; from `next_cursor`." })),
};

const placeOf = (
  { environmentId }: EnvironmentScope,
  { workspace_id: workspaceId }: { workspace_id: Uuid<"ws"> },
): WorkspacePlace => ({ environmentId, workspaceId });

export const fileRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id/files",
    name: "apiListWorkspaceFiles",
    summary: "List a directory",
    description:
      "The direct children of `path`, by default of the root, sorted by the bytes of their names. Later pages are of the version of the first. " +
      "Symbolic links are listed and never followed. An impossible path is 400 `invalid_path`.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object({ path: Type.Optional(Path), ...sourceFields, ...pageFields }, strict),
    responses: { 200: { description: "A page of entries.", schema: FileList } },
    refusals: [501],
    examples: { response: { files: [EXAMPLE_FILE], version_id: EXAMPLE_VERSION.id, next_cursor: null } },
    handle: ({ server, scope, params, query }) => listFiles(server, placeOf(scope, params), query),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id/files/stat",
    name: "apiStatWorkspaceFile",
    summary: "Get one entry",
    description: "The file, directory or symbolic link at `path`; by default the root.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object({ path: Type.Optional(Path), ...sourceFields }, strict),
    responses: { 200: { description: "The entry.", schema: FileEntry } },
    refusals: [501],
    examples: { response: EXAMPLE_FILE },
    handle: ({ server, scope, params, query }) => statFile(server, placeOf(scope, params), query),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id/files/content",
    name: "apiReadWorkspaceFile",
    summary: "Read a file",
    description:
      "The raw bytes, checked against their digest, which is also the `ETag`. `Range` with one range of bytes, `If-Range` and `If-None-Match` work as " +
      "HTTP has them; a range that begins after the end is 416. A directory or symbolic link is 400.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object({ path: Path, ...sourceFields }, strict),
    responses: {
      200: { description: "The file.", mediaType: "application/octet-stream" },
      206: { description: "The requested range.", mediaType: "application/octet-stream" },
      304: { description: "The caller has it already." },
    },
    refusals: [416, 501],
    handle: ({ server, scope, params, query, request }) =>
      readFile(server, placeOf(scope, params), query, request),
  }),
  route({
    in: ["api"],
    method: "PUT",
    path: "/workspaces/:workspace_id/files/content",
    name: "apiWriteWorkspaceFile",
    summary: "Write a file",
    description:
      "The body becomes the file's content in a new version. Missing directories are created, and a symbolic link is replaced. `If-Match` with the " +
      "file's `ETag` replaces only that content, and `If-None-Match: *` writes only a new file; otherwise the answer is 412 `precondition_failed`. " +
      "A live workspace is 409 `workspace_busy`. The same content makes no version.",
    tag,
    access: write,
    params: WorkspaceParams,
    query: Type.Object(
      {
        path: Path,
        mode: Type.Optional(
          Type.String({
            pattern: "^0?[0-7]{3}$",
            description: "Permission bits in octal. Default: those of the existing file, else `0644`.",
          }),
        ),
      },
      strict,
    ),
    rawBody: { bodyLimitBytes: LIMITS.workspaceFileBytes, mediaType: "application/octet-stream" },
    responses: {
      201: { description: "Written as a new version.", schema: WrittenFile },
      200: { description: "The file was so already.", schema: WrittenFile },
    },
    refusals: [412],
    examples: { response: { version_id: EXAMPLE_VERSION.id, file: EXAMPLE_FILE } },
    handle: ({ server, scope, params, query, body, request }) =>
      writeReply(server, placeOf(scope, params), query, body, request),
  }),
  route({
    in: ["api"],
    method: "DELETE",
    path: "/workspaces/:workspace_id/files/content",
    name: "apiRemoveWorkspaceFile",
    summary: "Remove a file",
    description:
      "Removes a file or symbolic link, as a new version; its directory stays. `If-Match` as for writing. A directory is 400, a live workspace 409 " +
      "`workspace_busy`.",
    tag,
    access: write,
    params: WorkspaceParams,
    query: Type.Object({ path: Path }, strict),
    responses: { 200: { description: "The version without it.", schema: WrittenFile } },
    refusals: [412],
    examples: { response: { version_id: EXAMPLE_VERSION.id, file: null } },
    handle: ({ server, scope, params, query, request }) =>
      removeReply(server, placeOf(scope, params), query, request),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/workspaces/:workspace_id/versions/:version_id/diff",
    name: "apiDiffWorkspaceVersion",
    summary: "Compare versions",
    description:
      "The added, removed and modified files from `base` to the version, in the order of paths. The base is any version of the environment, by " +
      "default the previous one. The first version of a workspace is compared with an empty tree. A changed time alone is no change.",
    tag,
    access: read,
    params: { ...WorkspaceParams, version_id: Id("wsv") },
    query: Type.Object({ base: Type.Optional(Type.String({ maxLength: 64 })), ...pageFields }, strict),
    responses: { 200: { description: "A page of changes.", schema: VersionDiff } },
    examples: { response: EXAMPLE_DIFF },
    handle: ({ server, scope, params, query }) =>
      diffVersion(server, placeOf(scope, params), params.version_id, query),
  }),
];

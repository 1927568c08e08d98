import { FileEntry, FileList, LIMITS, VersionDiff, WrittenFile } from "@keelson/contract";
import { Type } from "typebox";
import {
  answerDiff,
  answerFileContent,
  answerFileList,
  answerFileRemoval,
  answerFileStat,
  answerFileWrite,
} from "./file-answers.ts";
import { route, type Route } from "./route.ts";
import { workspaceIdOf } from "./workspace-answers.ts";
import { EXAMPLE_DIFF, EXAMPLE_FILE, EXAMPLE_VERSION } from "./workspace-examples.ts";
import { WorkspaceParams } from "./workspace-routes.ts";

/** Files of versions. Nothing here touches a file system of the server: a path is looked up in a version's manifest. */

const tag = "Workspace files";
const read = { kind: "environment", permission: "workspaces.read" } as const;
const write = { kind: "environment", permission: "workspaces.write" } as const;

const sourceFields = {
  source: Type.Optional(
    Type.Enum(["current", "version", "live"], {
      description: "Default `current`. `version` reads `version_id`; `live` is reserved and answers 501.",
    }),
  ),
  version_id: Type.Optional(
    Type.String({ maxLength: 64, description: "Only with `source=version`, and required there." }),
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

export const fileRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/files",
    operationId: "apiListWorkspaceFiles",
    summary: "List a directory",
    description:
      "The direct children of `path`, by default of the root, sorted by the bytes of their names. Later pages are of the version of the first. " +
      "Symbolic links are listed and never followed. A path that cannot be is 400 `invalid_path`.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object({ path: Type.Optional(Path), ...sourceFields, ...pageFields }, strict),
    responses: { 200: { description: "A page of entries.", schema: FileList } },
    examples: { response: { files: [EXAMPLE_FILE], version_id: EXAMPLE_VERSION.id, next_cursor: null } },
    handle: ({ server, scope, params, query }) =>
      answerFileList(server, scope, workspaceIdOf(params.workspace_id), query),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/files/stat",
    operationId: "apiStatWorkspaceFile",
    summary: "Get one entry",
    description: "The file, directory or symbolic link at `path`; by default the root.",
    tag,
    access: read,
    params: WorkspaceParams,
    query: Type.Object({ path: Type.Optional(Path), ...sourceFields }, strict),
    responses: { 200: { description: "The entry.", schema: FileEntry } },
    examples: { response: EXAMPLE_FILE },
    handle: ({ server, scope, params, query }) =>
      answerFileStat(server, scope, workspaceIdOf(params.workspace_id), query),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/files/content",
    operationId: "apiReadWorkspaceFile",
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
      206: { description: "The part of it that was asked for.", mediaType: "application/octet-stream" },
      304: { description: "The caller has it already." },
    },
    handle: ({ server, scope, params, query, request }) =>
      answerFileContent(server, scope, workspaceIdOf(params.workspace_id), query, request),
  }),
  route({
    family: "api",
    method: "PUT",
    path: "/api/workspaces/:workspace_id/files/content",
    operationId: "apiWriteWorkspaceFile",
    summary: "Write a file",
    description:
      "The body becomes the file's content, and the change a version; missing directories are made, a symbolic link is replaced. `If-Match` with the " +
      "file's `ETag` writes only over what was read, `If-None-Match: *` only a new file; else 412 `precondition_failed`. A live workspace is " +
      "409 `workspace_busy`. The same content again makes no version.",
    tag,
    access: write,
    params: WorkspaceParams,
    query: Type.Object(
      {
        path: Path,
        mode: Type.Optional(
          Type.String({
            pattern: "^0?[0-7]{3}$",
            description: "Permission bits in octal. Default: as it is, else `0644`.",
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
    examples: { response: { version_id: EXAMPLE_VERSION.id, file: EXAMPLE_FILE } },
    handle: ({ server, scope, params, query, body, request }) =>
      answerFileWrite(server, scope, workspaceIdOf(params.workspace_id), query, body, request),
  }),
  route({
    family: "api",
    method: "DELETE",
    path: "/api/workspaces/:workspace_id/files/content",
    operationId: "apiRemoveWorkspaceFile",
    summary: "Remove a file",
    description:
      "Removes a file or symbolic link, as a new version; its directory stays. `If-Match` as for writing. A directory is 400, a live workspace 409 " +
      "`workspace_busy`.",
    tag,
    access: write,
    params: WorkspaceParams,
    query: Type.Object({ path: Path }, strict),
    responses: { 200: { description: "The version without it.", schema: WrittenFile } },
    examples: { response: { version_id: EXAMPLE_VERSION.id, file: null } },
    handle: ({ server, scope, params, query, request }) =>
      answerFileRemoval(server, scope, workspaceIdOf(params.workspace_id), query, request),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/workspaces/:workspace_id/versions/:version_id/diff",
    operationId: "apiDiffWorkspaceVersion",
    summary: "Compare versions",
    description:
      "What was added, removed and modified from `base` to the version, in the order of paths. The base is any version of the environment, by default " +
      "the one that this was made from; the first version of a workspace is compared with an empty tree. Times alone are no change.",
    tag,
    access: read,
    params: Type.Object({ workspace_id: Type.String(), version_id: Type.String() }),
    query: Type.Object({ base: Type.Optional(Type.String({ maxLength: 64 })), ...pageFields }, strict),
    responses: { 200: { description: "A page of changes.", schema: VersionDiff } },
    examples: { response: EXAMPLE_DIFF },
    handle: ({ server, scope, params, query }) =>
      answerDiff(server, scope, workspaceIdOf(params.workspace_id), params.version_id, query),
  }),
];

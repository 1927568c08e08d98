import type { FileEntry, WrittenFile } from "./resources.ts";
import { bytesOf } from "./base64.ts";
import type { ApiRequest, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";
import { UsageError } from "../keelson-error.ts";
import { fileEntryShape, writtenFileShape } from "./wire-shapes.ts";

/** Which version is read. */
export type FileVersion = {
  /** A version of the workspace. Default: the current one. */
  versionId?: string;
};

/** Up to 500 entries a page, by default 200. */
export type FileListOptions = RequestOptions & FileVersion & PageQuery;

/** Options of reading a file. */
export type FileReadOptions = RequestOptions &
  FileVersion & {
    /** Only these bytes: from `start`, up to but without `end` (default: the file's end). */
    range?: { start: number; end?: number };
  };

/** A call that only holds for a file as it was seen. */
type Precondition = {
  /** The `digest` that the file must still have, else it is a BadRequestError `precondition_failed`. */
  ifDigest?: string;
};

/** Options of writing a file. */
export type FileWriteOptions = RequestOptions &
  Precondition & {
    /** Write only when the file does not exist; otherwise reject with a BadRequestError `precondition_failed`. */
    ifAbsent?: boolean;
    /** Permission bits in octal, such as `755`. Default: as they are, else `644`. */
    mode?: string;
  };

/**
 * The files of a workspace's versions; no machine is needed. Paths are relative to the workspace's root, `/`-separated.
 * A missing file rejects with a NotFoundError, and an invalid path with a BadRequestError `invalid_path`.
 */
export type WorkspaceFilesApi = {
  /**
   * The direct children of a directory, by default of the root, ordered by name. All pages show the same version.
   *
   * @example
   * ```ts
   * for await (const entry of client.workspaces.files.list("ws_01k…", "src")) console.log(entry.path);
   * ```
   */
  list(workspaceId: string, path?: string, options?: FileListOptions): PagedList<FileEntry>;
  /**
   * A file, directory or symbolic link; links are not followed.
   *
   * @example
   * ```ts
   * const { sizeBytes } = await client.workspaces.files.stat("ws_01k…", "package.json");
   * ```
   */
  stat(workspaceId: string, path: string, options?: RequestOptions & FileVersion): Promise<FileEntry>;
  /**
   * A file's content in memory. Rejects with a BadRequestError for a directory, a link, and a range after the end.
   *
   * @example
   * ```ts
   * const bytes = await client.workspaces.files.read("ws_01k…", "logo.png");
   * ```
   */
  read(workspaceId: string, path: string, options?: FileReadOptions): Promise<Uint8Array>;
  /**
   * As `read`, decoded as UTF-8.
   *
   * @example
   * ```ts
   * const text = await client.workspaces.files.readText("ws_01k…", "README.md");
   * ```
   */
  readText(workspaceId: string, path: string, options?: FileReadOptions): Promise<string>;
  /**
   * Writes a file of up to 64 MiB as a new version, and creates missing directories. The same content makes no new
   * version. Rejects with a ConflictError `workspace_busy` while the workspace is live: stop it first, or write with a
   * command.
   *
   * @example
   * ```ts
   * await client.workspaces.files.write("ws_01k…", "notes.md", "Hello");
   * ```
   */
  write(
    workspaceId: string,
    path: string,
    content: string | Uint8Array,
    options?: FileWriteOptions,
  ): Promise<WrittenFile>;
  /**
   * Removes a file or link as a new version. Rejects with a ConflictError `workspace_busy` while the workspace is live.
   *
   * @example
   * ```ts
   * await client.workspaces.files.delete("ws_01k…", "notes.md");
   * ```
   */
  delete(workspaceId: string, path: string, options?: RequestOptions & Precondition): Promise<WrittenFile>;
};

const sourceOf = (versionId: string | undefined): ApiRequest["query"] =>
  versionId === undefined ? {} : { source: "version", version_id: versionId };

/** Throws a UsageError: HTTP has no words for an empty or a negative range. */
function rangeHeader(range: FileReadOptions["range"]): Record<string, string> {
  if (range === undefined) return {};
  const { start, end } = range;
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  if (!isWhole(start) || (end !== undefined && !(isWhole(end) && end > start)))
    throw new UsageError(`range must be whole numbers with 0 <= start < end, not ${start} to ${end}`);
  return { range: `bytes=${start}-${end === undefined ? "" : end - 1}` };
}

/** What is written only over what was seen must not be repeated: the second time it is not what was seen. */
const conditionOf = (
  ifDigest: string | undefined,
  ifAbsent?: boolean,
): Pick<ApiRequest, "headers" | "repeatable"> =>
  ifDigest === undefined && ifAbsent !== true
    ? {}
    : {
        headers: {
          ...(ifDigest !== undefined && { "if-match": `"${ifDigest}"` }),
          ...(ifAbsent === true && { "if-none-match": "*" }),
        },
        repeatable: false,
      };

/** A query is UTF-8: half of a surrogate pair would become another name. */
function pathText(path: string): string {
  if (path.isWellFormed()) return path;
  throw new UsageError("`path` has half of a surrogate pair, which no name of a file has");
}

export function createWorkspaceFilesApi(transport: Transport): WorkspaceFilesApi {
  const content = (workspaceId: string): string => workspacePath(workspaceId, "/files/content");

  async function read(workspaceId: string, path: string, options: FileReadOptions): Promise<Uint8Array> {
    const { versionId, range, ...call } = options;
    const query = { path: pathText(path), ...sourceOf(versionId) };
    const headers = { accept: "application/octet-stream, application/json", ...rangeHeader(range) };
    const request = { method: "GET", path: content(workspaceId), query, headers, ...call } as const;
    return transport.requestBytes(request);
  }

  return {
    list: (workspaceId, path, { versionId, limit, cursor, ...options } = {}) => {
      const filters = { ...(path !== undefined && { path: pathText(path) }), ...sourceOf(versionId) };
      const query = {
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
        filters,
      };
      return listOf(transport, fileEntryShape, workspacePath(workspaceId, "/files"), "files", query, options);
    },
    stat: async (workspaceId, path, { versionId, ...options } = {}) =>
      transport.ask(fileEntryShape, {
        method: "GET",
        path: workspacePath(workspaceId, "/files/stat"),
        query: { path: pathText(path), ...sourceOf(versionId) },
        ...options,
      }),
    read: (workspaceId, path, options = {}) => read(workspaceId, path, options),
    readText: async (workspaceId, path, options = {}) =>
      new TextDecoder().decode(await read(workspaceId, path, options)),
    write: async (workspaceId, path, data, { mode, ifDigest, ifAbsent, ...options } = {}) =>
      transport.ask(writtenFileShape, {
        method: "PUT",
        path: content(workspaceId),
        query: { path: pathText(path), mode },
        body: { bytes: bytesOf(data) },
        ...conditionOf(ifDigest, ifAbsent),
        ...options,
      }),
    delete: async (workspaceId, path, { ifDigest, ...options } = {}) =>
      transport.ask(writtenFileShape, {
        method: "DELETE",
        path: content(workspaceId),
        query: { path: pathText(path) },
        // A second removal finds nothing to remove.
        repeatable: false,
        ...conditionOf(ifDigest),
        ...options,
      }),
  };
}

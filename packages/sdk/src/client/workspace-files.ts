import type { FileEntry, WrittenFile } from "@keelson/contract";
import { bytesOf } from "./base64.ts";
import type { ApiRequest, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";

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
    /** Only when there is no such file yet, else it is a BadRequestError `precondition_failed`. */
    ifAbsent?: boolean;
    /** Permission bits in octal, such as `755`. Default: as they are, else `644`. */
    mode?: string;
  };

/**
 * The files of a workspace's versions; no machine is needed. Paths are relative to the workspace's root, `/`-separated.
 * What is not there is a NotFoundError, a path that cannot be a BadRequestError `invalid_path`.
 */
export type WorkspaceFilesApi = {
  /** The direct children of a directory, by default of the root, by name. All pages are of one version. */
  list(workspaceId: string, path?: string, options?: FileListOptions): PagedList<FileEntry>;
  /** A file, directory or symbolic link; links are not followed. */
  stat(workspaceId: string, path: string, options?: RequestOptions & FileVersion): Promise<FileEntry>;
  /** A file's content, in memory. A BadRequestError for a directory, a link, and a range after the end. */
  read(workspaceId: string, path: string, options?: FileReadOptions): Promise<Uint8Array>;
  /** As `read`, decoded as UTF-8. */
  readText(workspaceId: string, path: string, options?: FileReadOptions): Promise<string>;
  /**
   * Writes up to 64 MiB as a new version, with the directories that are missing; the same content again makes none. A
   * ConflictError `workspace_busy` while the workspace is live: stop it first, or write by a command.
   */
  write(
    workspaceId: string,
    path: string,
    content: string | Uint8Array,
    options?: FileWriteOptions,
  ): Promise<WrittenFile>;
  /** Removes a file or link, as a new version. A ConflictError `workspace_busy` while the workspace is live. */
  delete(workspaceId: string, path: string, options?: RequestOptions & Precondition): Promise<WrittenFile>;
};

const sourceOf = (versionId: string | undefined): ApiRequest["query"] =>
  versionId === undefined ? {} : { source: "version", version_id: versionId };

/** Throws a RangeError: HTTP has no words for an empty or a negative range. */
function rangeHeader(range: FileReadOptions["range"]): Record<string, string> {
  if (range === undefined) return {};
  const { start, end } = range;
  const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  if (!isWhole(start) || (end !== undefined && !(isWhole(end) && end > start)))
    throw new RangeError(`range must be whole numbers with 0 <= start < end, not ${start} to ${end}`);
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

export function createWorkspaceFilesApi(transport: Transport): WorkspaceFilesApi {
  const content = (workspaceId: string): string => workspacePath(workspaceId, "/files/content");

  async function read(workspaceId: string, path: string, options: FileReadOptions): Promise<Uint8Array> {
    const { versionId, range, ...call } = options;
    const query = { path, ...sourceOf(versionId) };
    const headers = { accept: "application/octet-stream, application/json", ...rangeHeader(range) };
    const request = { method: "GET", path: content(workspaceId), query, headers, ...call } as const;
    return transport.requestBytes(request);
  }

  return {
    list: (workspaceId, path, { versionId, limit, cursor, ...options } = {}) => {
      const filters = { path, ...sourceOf(versionId) };
      const query = {
        ...(limit !== undefined && { limit }),
        ...(cursor !== undefined && { cursor }),
        filters,
      };
      return listOf(transport, workspacePath(workspaceId, "/files"), "files", query, options);
    },
    stat: (workspaceId, path, { versionId, ...options } = {}) =>
      transport.request({
        method: "GET",
        path: workspacePath(workspaceId, "/files/stat"),
        query: { path, ...sourceOf(versionId) },
        ...options,
      }),
    read: (workspaceId, path, options = {}) => read(workspaceId, path, options),
    readText: async (workspaceId, path, options = {}) =>
      new TextDecoder().decode(await read(workspaceId, path, options)),
    write: (workspaceId, path, data, { mode, ifDigest, ifAbsent, ...options } = {}) =>
      transport.request({
        method: "PUT",
        path: content(workspaceId),
        query: { path, mode },
        body: { bytes: bytesOf(data) },
        ...conditionOf(ifDigest, ifAbsent),
        ...options,
      }),
    delete: (workspaceId, path, { ifDigest, ...options } = {}) =>
      transport.request({
        method: "DELETE",
        path: content(workspaceId),
        query: { path },
        // A second removal finds nothing to remove.
        repeatable: false,
        ...conditionOf(ifDigest),
        ...options,
      }),
  };
}

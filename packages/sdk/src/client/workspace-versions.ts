import type { DiffEntry, WorkspaceVersion } from "@keelson/contract";
import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";

/** Options of `versions.diff()`. */
export type DiffOptions = RequestOptions &
  PageQuery & {
    /** Any version of the environment. Default: the one that the version was made from. */
    base?: string;
  };

/** The versions of a workspace: its files after each change. They never change. */
export type WorkspaceVersionsApi = {
  /** Newest first; up to 200 a page, by default 100. */
  list(workspaceId: string, query?: PageQuery, options?: RequestOptions): PagedList<WorkspaceVersion>;
  /** One version; a NotFoundError when there is none, or no longer. */
  get(workspaceId: string, versionId: string, options?: RequestOptions): Promise<WorkspaceVersion>;
  /**
   * What was added, removed and modified from the base to the version, in the order of paths; up to 500 a page, by
   * default 200. The first version of a workspace is compared with an empty tree.
   */
  diff(workspaceId: string, versionId: string, options?: DiffOptions): PagedList<DiffEntry>;
  /**
   * Makes the version's files the current ones, as a new version; when they are already, gives the current one. A
   * ConflictError `workspace_busy` while the workspace is live: stop it first.
   */
  restore(workspaceId: string, versionId: string, options?: RequestOptions): Promise<WorkspaceVersion>;
};

export function createWorkspaceVersionsApi(transport: Transport): WorkspaceVersionsApi {
  const item = (workspaceId: string, versionId: string, rest = ""): string =>
    workspacePath(workspaceId, `/versions/${encodeURIComponent(versionId)}${rest}`);
  return {
    list: (workspaceId, query = {}, options = {}) =>
      listOf(transport, workspacePath(workspaceId, "/versions"), "versions", query, options),
    get: (workspaceId, versionId, options = {}) =>
      transport.request({ method: "GET", path: item(workspaceId, versionId), ...options }),
    diff: (workspaceId, versionId, { base, limit, cursor, ...options } = {}) => {
      const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
      const query = { ...page, filters: { base } };
      return listOf(transport, item(workspaceId, versionId, "/diff"), "changes", query, options);
    },
    restore: (workspaceId, versionId, options = {}) =>
      transport.request({
        method: "POST",
        path: item(workspaceId, versionId, "/restore"),
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}

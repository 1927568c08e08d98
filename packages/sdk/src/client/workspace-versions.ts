import type { DiffEntry, WorkspaceVersion } from "./resources.ts";
import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";
import { diffEntryShape, workspaceVersionShape } from "./wire-shapes.ts";

/** Options of `versions.diff()`. */
export type DiffOptions = RequestOptions &
  PageQuery & {
    /** Any version in the environment. Default: the version before it. */
    base?: string;
  };

/** The versions of a workspace: its files after each change. They never change. */
export type WorkspaceVersionsApi = {
  /**
   * The versions, newest first; up to 200 per page, by default 100.
   *
   * @example
   * ```ts
   * for await (const version of client.workspaces.versions.list("ws_01k…")) console.log(version.id, version.createdAt);
   * ```
   */
  list(workspaceId: string, query?: PageQuery, options?: RequestOptions): PagedList<WorkspaceVersion>;
  /**
   * One version. Rejects with a NotFoundError when it does not exist, or was dropped.
   *
   * @example
   * ```ts
   * const version = await client.workspaces.versions.get("ws_01k…", versionId);
   * ```
   */
  get(workspaceId: string, versionId: string, options?: RequestOptions): Promise<WorkspaceVersion>;
  /**
   * The added, removed and modified files from the base to the version, in the order of their paths; up to 500 per page,
   * by default 200. The first version of a workspace is compared with an empty tree.
   *
   * @example
   * ```ts
   * for await (const entry of client.workspaces.versions.diff("ws_01k…", versionId)) console.log(entry.change, entry.path);
   * ```
   */
  diff(workspaceId: string, versionId: string, options?: DiffOptions): PagedList<DiffEntry>;
  /**
   * Restores the version's files as a new version. When the files are the same, returns the current version. Rejects
   * with a ConflictError `workspace_busy` while the workspace is live: stop it first.
   *
   * @example
   * ```ts
   * await client.workspaces.versions.restore("ws_01k…", versionId);
   * ```
   */
  restore(workspaceId: string, versionId: string, options?: RequestOptions): Promise<WorkspaceVersion>;
};

export function createWorkspaceVersionsApi(transport: Transport): WorkspaceVersionsApi {
  const item = (workspaceId: string, versionId: string, rest = ""): string =>
    workspacePath(workspaceId, `/versions/${encodeURIComponent(versionId)}${rest}`);
  return {
    list: (workspaceId, query = {}, options = {}) =>
      listOf(
        transport,
        workspaceVersionShape,
        workspacePath(workspaceId, "/versions"),
        "versions",
        query,
        options,
      ),
    get: (workspaceId, versionId, options = {}) =>
      transport.ask(workspaceVersionShape, { method: "GET", path: item(workspaceId, versionId), ...options }),
    diff: (workspaceId, versionId, { base, limit, cursor, ...options } = {}) => {
      const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
      const query = { ...page, filters: { base } };
      return listOf(
        transport,
        diffEntryShape,
        item(workspaceId, versionId, "/diff"),
        "changes",
        query,
        options,
      );
    },
    restore: (workspaceId, versionId, options = {}) =>
      transport.ask(workspaceVersionShape, {
        method: "POST",
        path: item(workspaceId, versionId, "/restore"),
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}

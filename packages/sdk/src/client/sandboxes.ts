import type { Sandbox, Workspace } from "@keelson/contract";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import { createWorkspaceAt, type NewWorkspace } from "./new-workspace.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** The sandboxes of the current deployment, and the built-in `default`: what workspaces are like inside. */
export type SandboxesApi = {
  /** Those of the current deployment. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Sandbox>;
  /** By its id (`sbx_…`). */
  get(id: string, options?: RequestOptions): Promise<Sandbox>;
  /** A workspace that keeps the sandbox as it is declared now. `client.workspaces.create` takes its declared id instead. */
  createWorkspace(id: string, workspace?: NewWorkspace, options?: CallOptions): Promise<Workspace>;
};

export function createSandboxesApi(transport: Transport): SandboxesApi {
  const item = (id: string): string => `/v1/sandboxes/${encodeURIComponent(id)}`;
  return {
    list: (query = {}, options = {}) => listOf(transport, "/v1/sandboxes", "sandboxes", query, options),
    get: (id, options = {}) => transport.request({ method: "GET", path: item(id), ...options }),
    createWorkspace: (id, workspace = {}, options = {}) =>
      createWorkspaceAt(transport, `${item(id)}/workspaces`, workspace, {}, options),
  };
}

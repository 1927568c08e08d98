import type { Sandbox, Workspace } from "./resources.ts";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import { createWorkspaceAt, type NewWorkspace } from "./new-workspace.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { sandboxShape } from "./wire-shapes.ts";

/** The sandboxes of the current deployment, and the built-in `default`. */
export type SandboxesApi = {
  /**
   * Those of the current deployment.
   *
   * @example
   * ```ts
   * for await (const sandbox of client.sandboxes.list()) console.log(sandbox.id);
   * ```
   */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Sandbox>;
  /**
   * By its id (`sbx_…`).
   *
   * @example
   * ```ts
   * const sandbox = await client.sandboxes.get("sbx_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Sandbox>;
  /**
   * Creates a workspace with the sandbox's present declaration. `client.workspaces.create` takes its declared id
   * instead.
   *
   * @example
   * ```ts
   * const workspace = await client.sandboxes.createWorkspace("sbx_01k…", { externalId: "issue-7" });
   * ```
   */
  createWorkspace(id: string, workspace?: NewWorkspace, options?: CallOptions): Promise<Workspace>;
};

export function createSandboxesApi(transport: Transport): SandboxesApi {
  const item = (id: string): string => `/v1/sandboxes/${encodeURIComponent(id)}`;
  return {
    list: (query = {}, options = {}) =>
      listOf(transport, sandboxShape, "/v1/sandboxes", "sandboxes", query, options),
    get: (id, options = {}) => transport.ask(sandboxShape, { method: "GET", path: item(id), ...options }),
    createWorkspace: (id, workspace = {}, options = {}) =>
      createWorkspaceAt(transport, `${item(id)}/workspaces`, workspace, {}, options),
  };
}

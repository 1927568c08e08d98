import type { Workspace } from "@keelson/contract";
import type { Sandbox } from "../sandbox.ts";
import { createExecsApi, startExec, type ExecHandle, type ExecOptions, type ExecsApi } from "./execs.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import { createWorkspaceAt, type NewWorkspace as NewOfSandbox } from "./new-workspace.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createPtysApi, openPty, type PtyHandle, type PtyOptions, type PtysApi } from "./ptys.ts";
import type { Transport } from "./transport.ts";
import { createWorkspaceFilesApi, type WorkspaceFilesApi } from "./workspace-files.ts";
import { createWorkspaceHandle, type WorkspaceHandle } from "./workspace-handle.ts";
import { workspacePath } from "./workspace-path.ts";
import { connectWorkspace, stopWorkspace, type SettleOptions } from "./workspace-settling.ts";
import { createWorkspaceVersionsApi, type WorkspaceVersionsApi } from "./workspace-versions.ts";

export type { SettleOptions } from "./workspace-settling.ts";

/** What a workspace is made with. */
export type NewWorkspace = NewOfSandbox & {
  /** A declared sandbox or its id. Default: that of the forked workspace, else `default`. */
  sandbox?: Sandbox | string;
};

/** What is given replaces what was. */
export type WorkspaceChanges = {
  /** In place of all metadata there is. */
  metadata?: Record<string, unknown>;
  /** In place of all tags there are. */
  tags?: readonly string[];
};

/** Filters of `workspaces.list()`. */
export type WorkspaceQuery = PageQuery & {
  /** Only the one with this external id. */
  externalId?: string;
  /** Declared id. */
  sandbox?: string;
  /** All of them. */
  tag?: string | readonly string[];
};

/**
 * Workspaces: files that are kept, version by version, and machines they are put on while something runs in them. An exec
 * or a PTY puts its workspace on a machine by itself; idle ones are taken off again, and nothing is lost by it.
 */
export type WorkspacesApi = {
  /** A ConflictError `already_exists` when an active workspace has the external id. */
  create(workspace?: NewWorkspace, options?: CallOptions): Promise<Workspace>;
  /** Newest first, without deleted ones. */
  list(query?: WorkspaceQuery, options?: RequestOptions): PagedList<Workspace>;
  /** One workspace; a NotFoundError when there is none. */
  get(id: string, options?: RequestOptions): Promise<Workspace>;
  /** Changes what is given and leaves the rest. */
  update(id: string, changes: WorkspaceChanges, options?: RequestOptions): Promise<Workspace>;
  /** Ends what runs in it first: a live one is `deleting` until its machine has let go. Its versions are gone at once; forks keep their files. */
  delete(id: string, options?: RequestOptions): Promise<Workspace>;
  /** Asks for it to be put on a machine and does not wait. */
  materialize(id: string, options?: RequestOptions): Promise<Workspace>;
  /** Puts it on a machine and gives it once it is live. A ConflictError `invalid_state` when that fails. */
  connect(id: string, options?: SettleOptions): Promise<Workspace>;
  /** Ends what runs in it, commits what changed, and gives it once it is off its machine. */
  stop(id: string, options?: SettleOptions): Promise<Workspace>;
  /** Files of its versions. */
  files: WorkspaceFilesApi;
  /** Its versions. */
  versions: WorkspaceVersionsApi;
  /**
   * Starts a command as it is, without a shell (`["sh", "-c", "a | b"]` uses one), and gives it at once: its outputs can
   * be followed, its end waited for. What it changes is a version when it ends.
   */
  exec(workspaceId: string, command: readonly string[], options?: ExecOptions): Promise<ExecHandle>;
  /** Commands in it. */
  execs: ExecsApi;
  /** Opens a terminal, by default with the login shell. */
  pty(workspaceId: string, options?: PtyOptions): Promise<PtyHandle>;
  /** Terminals in it. */
  ptys: PtysApi;
  /** A workspace at hand: the calls above without its id. Nothing is asked before they are called. */
  open(workspace: string | Workspace): WorkspaceHandle;
};

export function createWorkspacesApi(transport: Transport): WorkspacesApi {
  const api: WorkspacesApi = {
    create({ sandbox, ...workspace } = {}, options = {}) {
      const declaredId = typeof sandbox === "object" ? sandbox.id : sandbox;
      const further = declaredId === undefined ? {} : { sandbox: declaredId };
      return createWorkspaceAt(transport, "/api/workspaces", workspace, further, options);
    },
    list: ({ externalId, sandbox, tag, ...query } = {}, options = {}) => {
      const filters = { external_id: externalId, sandbox, tag };
      return listOf(transport, "/api/workspaces", "workspaces", { ...query, filters }, options);
    },
    get: (id, options = {}) => transport.request({ method: "GET", path: workspacePath(id), ...options }),
    update: (id, changes, options = {}) =>
      transport.request({ method: "PATCH", path: workspacePath(id), body: { json: changes }, ...options }),
    delete: (id, options = {}) =>
      transport.request({ method: "DELETE", path: workspacePath(id), ...options }),
    materialize: (id, options = {}) =>
      transport.request({
        method: "POST",
        path: workspacePath(id, "/materialize"),
        body: { json: {} },
        repeatable: true,
        ...callOptions(options),
      }),
    connect: (id, options = {}) => connectWorkspace(transport, id, options),
    stop: (id, options = {}) => stopWorkspace(transport, id, options),
    files: createWorkspaceFilesApi(transport),
    versions: createWorkspaceVersionsApi(transport),
    exec: (workspaceId, command, options = {}) => startExec(transport, workspaceId, command, options),
    execs: createExecsApi(transport),
    pty: (workspaceId, options = {}) => openPty(transport, workspaceId, options),
    ptys: createPtysApi(transport),
    open: (workspace) => createWorkspaceHandle(api, typeof workspace === "string" ? workspace : workspace.id),
  };
  return api;
}

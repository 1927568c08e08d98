import type { Workspace } from "./resources.ts";
import type { Sandbox } from "../sandbox.ts";
import { createExecsApi, startExec, type ExecHandle, type ExecOptions, type ExecsApi } from "./execs.ts";
import { callOptions, timeoutOf, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import { createWorkspaceAt, type NewWorkspace as NewOfSandbox } from "./new-workspace.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createPtysApi, openPty, type PtyHandle, type PtyOptions, type PtysApi } from "./ptys.ts";
import type { Transport } from "./transport.ts";
import { createWorkspaceFilesApi, type WorkspaceFilesApi } from "./workspace-files.ts";
import { createWorkspaceHandle, type WorkspaceHandle } from "./workspace-handle.ts";
import { workspacePath } from "./workspace-path.ts";
import { connectWorkspace, SERVER_WAIT_MS, stopWorkspace, type SettleOptions } from "./workspace-settling.ts";
import { createWorkspaceVersionsApi, type WorkspaceVersionsApi } from "./workspace-versions.ts";
import { workspaceShape } from "./wire-shapes.ts";

export type { SettleOptions } from "./workspace-settling.ts";

/** The options of a new workspace. */
export type NewWorkspace = NewOfSandbox & {
  /** A declared sandbox or its id. Default: that of the forked workspace, else `default`. */
  sandbox?: Sandbox | string;
};

/** Only the given fields are replaced. */
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
 * Workspaces: versioned files, which are placed on a machine while a program uses them. An exec or a PTY starts its
 * workspace on a machine. Idle workspaces are committed and stopped.
 */
export type WorkspacesApi = {
  /**
   * Creates a workspace. Rejects with a ConflictError `already_exists` when an active workspace has the external id.
   *
   * @example
   * ```ts
   * const workspace = await client.workspaces.create({ externalId: "issue-7", tags: ["agent"] });
   * ```
   */
  create(workspace?: NewWorkspace, options?: CallOptions): Promise<Workspace>;
  /**
   * The workspaces, newest first, without deleted ones.
   *
   * @example
   * ```ts
   * for await (const workspace of client.workspaces.list({ tag: "agent" })) console.log(workspace.id);
   * ```
   */
  list(query?: WorkspaceQuery, options?: RequestOptions): PagedList<Workspace>;
  /**
   * One workspace. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const workspace = await client.workspaces.get("ws_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Workspace>;
  /**
   * Changes the given fields only.
   *
   * @example
   * ```ts
   * await client.workspaces.update("ws_01k…", { tags: ["done"] });
   * ```
   */
  update(id: string, changes: WorkspaceChanges, options?: RequestOptions): Promise<Workspace>;
  /**
   * Deletes a workspace and ends its programs. A live workspace is `deleting` until its worker has stopped it. Its
   * versions are deleted at once; forks keep their files.
   *
   * @example
   * ```ts
   * await client.workspaces.delete("ws_01k…");
   * ```
   */
  delete(id: string, options?: RequestOptions): Promise<Workspace>;
  /**
   * Requests a start of the workspace on a machine, and does not wait.
   *
   * @example
   * ```ts
   * await client.workspaces.materialize("ws_01k…");
   * ```
   */
  materialize(id: string, options?: RequestOptions): Promise<Workspace>;
  /**
   * Starts the workspace on a machine, and resolves when it is live. Rejects with a ConflictError `invalid_state` when
   * that fails.
   *
   * @example
   * ```ts
   * const live = await client.workspaces.connect("ws_01k…");
   * ```
   */
  connect(id: string, options?: SettleOptions): Promise<Workspace>;
  /**
   * Ends the workspace's programs, commits its changes, and resolves when it is stopped. When somebody starts it again
   * meanwhile, resolves with its next materialization.
   *
   * @example
   * ```ts
   * await client.workspaces.stop("ws_01k…");
   * ```
   */
  stop(id: string, options?: SettleOptions): Promise<Workspace>;
  /**
   * Retries the commit of files that a worker could not commit. Resolves with the workspace: `materialization.status` is
   * `stopped` after a successful commit, and `uncommitted` with `error` after another failure. Rejects with a
   * ConflictError `invalid_state` when no worker holds uncommitted files.
   *
   * @example
   * ```ts
   * const { materialization } = await client.workspaces.recover("ws_01k…");
   * ```
   */
  recover(id: string, options?: RequestOptions): Promise<Workspace>;
  /**
   * Discards the files that a worker could not commit. They are lost, and the workspace continues with its last version.
   *
   * @example
   * ```ts
   * await client.workspaces.discard("ws_01k…", { confirm: true });
   * ```
   */
  discard(id: string, confirmation: { confirm: true }, options?: RequestOptions): Promise<Workspace>;
  /** Files of its versions. */
  files: WorkspaceFilesApi;
  /** Its versions. */
  versions: WorkspaceVersionsApi;
  /**
   * Starts a command without a shell (`["sh", "-c", "a | b"]` uses one), and resolves at once. Follow its outputs, or
   * wait for its end. When it ends, its changes are a new version.
   *
   * @example
   * ```ts
   * const exec = await client.workspaces.exec("ws_01k…", ["npm", "test"]);
   * const { exitCode } = await exec.wait();
   * ```
   */
  exec(workspaceId: string, command: readonly string[], options?: ExecOptions): Promise<ExecHandle>;
  /** Commands in it. */
  execs: ExecsApi;
  /**
   * Opens a terminal, by default with the login shell.
   *
   * @example
   * ```ts
   * const pty = await client.workspaces.pty("ws_01k…", { cols: 80, rows: 24 });
   * ```
   */
  pty(workspaceId: string, options?: PtyOptions): Promise<PtyHandle>;
  /** Terminals in it. */
  ptys: PtysApi;
  /**
   * A handle of a workspace: the methods above without its id. It sends no request before you call them.
   *
   * @example
   * ```ts
   * const project = client.workspaces.open("ws_01k…");
   * await project.files.write("notes.md", "Hello");
   * ```
   */
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
      return listOf(
        transport,
        workspaceShape,
        "/api/workspaces",
        "workspaces",
        { ...query, filters },
        options,
      );
    },
    get: (id, options = {}) =>
      transport.ask(workspaceShape, { method: "GET", path: workspacePath(id), ...options }),
    update: (id, changes, options = {}) =>
      transport.ask(workspaceShape, {
        method: "PATCH",
        path: workspacePath(id),
        body: { json: changes },
        ...options,
      }),
    delete: (id, options = {}) =>
      transport.ask(workspaceShape, { method: "DELETE", path: workspacePath(id), ...options }),
    materialize: (id, options = {}) =>
      transport.ask(workspaceShape, {
        method: "POST",
        path: workspacePath(id, "/materialize"),
        body: { json: {} },
        repeatable: true,
        ...callOptions(options),
      }),
    connect: (id, options = {}) => connectWorkspace(transport, id, options),
    stop: (id, options = {}) => stopWorkspace(transport, id, options),
    recover: (id, options = {}) =>
      transport.ask(workspaceShape, {
        method: "POST",
        path: workspacePath(id, "/recover"),
        body: { json: {} },
        repeatable: true,
        ...callOptions(options),
        requestTimeout: timeoutOf(transport.config, options) + SERVER_WAIT_MS,
      }),
    discard: (id, confirmation, options = {}) =>
      transport.ask(workspaceShape, {
        method: "POST",
        path: workspacePath(id, "/discard"),
        body: { json: { ...confirmation } },
        ...callOptions(options),
      }),
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

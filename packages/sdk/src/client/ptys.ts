import type { CreatePty } from "@keelson/contract";
import type { Pty } from "./resources.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createInputWriter } from "./process-input.ts";
import { createProcessOutput, type ProcessOutput } from "./process-output.ts";
import { randomKey } from "./random.ts";
import type { Transport } from "./transport.ts";
import { untilProcessEnded, type ProcessWaitOptions } from "./wait-for-process.ts";
import { workspacePath } from "./workspace-path.ts";
import { ptyShape } from "./wire-shapes.ts";

/** Options of a terminal. */
export type PtyOptions = CallOptions & {
  /** The program and its arguments. Default: the login shell. */
  command?: readonly string[];
  /** A folder of the workspace. Default: its root. */
  cwd?: string;
  /** In addition to the sandbox's variables. */
  env?: Readonly<Record<string, string>>;
  /** Columns, 1 to 1000. Default 80. */
  cols?: number;
  /** Rows, 1 to 1000. Default 24. */
  rows?: number;
  /**
   * A repeated request with the same key returns the first PTY. By default the client makes a key, so that it can repeat
   * the request safely.
   */
  idempotencyKey?: string;
};

/** A terminal in a workspace. */
export type PtyHandle = {
  /** The terminal's id. */
  readonly id: string;
  /** The workspace it runs in. */
  readonly workspaceId: string;
  /** The output of the terminal: bytes with control sequences. */
  readonly output: ProcessOutput;
  /** The terminal as it is now. */
  get(options?: RequestOptions): Promise<Pty>;
  /**
   * Writes input to the terminal, each byte once. Calls are sent one after another. Rejects with a ConflictError
   * `invalid_state` when the terminal has ended or is closing.
   */
  write(content: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** Its size in characters, 1 to 1000 each. */
  resize(cols: number, rows: number, options?: CallOptions): Promise<Pty>;
  /**
   * Hangs up: the whole process group goes. It takes no input and no new size from then on. Closing again changes
   * nothing.
   */
  close(options?: CallOptions): Promise<Pty>;
  /** Once it has ended, however it ended: `exited`, `closed` or `lost`. */
  wait(options?: ProcessWaitOptions): Promise<Pty>;
};

/** `client.workspaces.ptys`. */
export type PtysApi = {
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const pty of client.workspaces.ptys.list("ws_01k…")) console.log(pty.status);
   * ```
   */
  list(workspaceId: string, query?: PageQuery, options?: RequestOptions): PagedList<Pty>;
  /**
   * One terminal. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const pty = await client.workspaces.ptys.get("ws_01k…", "pty_01k…");
   * ```
   */
  get(workspaceId: string, ptyId: string, options?: RequestOptions): Promise<Pty>;
  /**
   * A handle of a PTY. It sends no request before you call its methods.
   *
   * @example
   * ```ts
   * const pty = client.workspaces.ptys.open("ws_01k…", "pty_01k…");
   * ```
   */
  open(workspaceId: string, ptyId: string): PtyHandle;
};

const toWirePty = (options: PtyOptions): CreatePty => ({
  ...(options.command !== undefined && { command: [...options.command] }),
  ...(options.cwd !== undefined && { cwd: options.cwd }),
  ...(options.env !== undefined && { env: { ...options.env } }),
  ...(options.cols !== undefined && { cols: options.cols }),
  ...(options.rows !== undefined && { rows: options.rows }),
  idempotency_key: options.idempotencyKey ?? randomKey(),
});

const ptyPath = (workspaceId: string, ptyId: string, rest = ""): string =>
  workspacePath(workspaceId, `/pty/${encodeURIComponent(ptyId)}${rest}`);

function createPtyHandle(transport: Transport, workspaceId: string, id: string, typed?: number): PtyHandle {
  const at = (rest = ""): string => ptyPath(workspaceId, id, rest);
  const get = (options: RequestOptions = {}): Promise<Pty> =>
    transport.ask(ptyShape, { method: "GET", path: at(), ...options });
  const change = (path: string, json: object, options: CallOptions): Promise<Pty> =>
    transport.ask(ptyShape, {
      method: "POST",
      path,
      body: { json },
      repeatable: true,
      ...callOptions(options),
    });
  return {
    id,
    workspaceId,
    output: createProcessOutput(transport, at("/output")),
    get,
    write: createInputWriter(
      transport,
      at("/input"),
      async (options) => typed ?? (await get(options)).input.bytes,
    ),
    resize: (cols, rows, options = {}) => change(at("/resize"), { cols, rows }, options),
    close: (options = {}) => change(at("/close"), {}, options),
    async wait(options = {}) {
      await untilProcessEnded(transport, at("/output"), options);
      return get(options.signal === undefined ? {} : { signal: options.signal });
    },
  };
}

/** Opens a terminal once the workspace is live. */
export async function openPty(
  transport: Transport,
  workspaceId: string,
  options: PtyOptions,
): Promise<PtyHandle> {
  const pty = await transport.ask(ptyShape, {
    method: "POST",
    path: workspacePath(workspaceId, "/pty"),
    body: { json: toWirePty(options) },
    repeatable: true,
    ...callOptions(options),
  });
  // What is known of a terminal that may have been opened earlier is how it was then.
  const typed = options.idempotencyKey === undefined ? pty.input.bytes : undefined;
  return createPtyHandle(transport, workspaceId, pty.id, typed);
}

export const createPtysApi = (transport: Transport): PtysApi => ({
  list: (workspaceId, query = {}, options = {}) =>
    listOf(transport, ptyShape, workspacePath(workspaceId, "/pty"), "ptys", query, options),
  get: (workspaceId, ptyId, options = {}) =>
    transport.ask(ptyShape, { method: "GET", path: ptyPath(workspaceId, ptyId), ...options }),
  open: (workspaceId, ptyId) => createPtyHandle(transport, workspaceId, ptyId),
});

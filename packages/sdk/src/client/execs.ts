import type { CreateExec } from "@keelson/contract";
import type { Exec, ExecResult } from "./resources.ts";
import type { OnLost, ProcessSignal } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { bytesOf, decodeBase64, encodeBase64 } from "./base64.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createInputWriter } from "./process-input.ts";
import { checkCommand } from "../check-command.ts";
import { createProcessOutput, type ProcessOutput } from "./process-output.ts";
import { randomKey } from "./random.ts";
import type { Transport } from "./transport.ts";
import { untilProcessEnded, type ProcessWaitOptions } from "./wait-for-process.ts";
import { workspacePath } from "./workspace-path.ts";
import { execResultShape, execShape } from "./wire-shapes.ts";

/** Options of a command. */
export type ExecOptions = CallOptions & {
  /** A folder of the workspace. Default: its root. */
  cwd?: string;
  /** Besides the sandbox's. Only the names can be read back. */
  env?: Readonly<Record<string, string>>;
  /** All of its input. Without it the input stays open for `write` and `closeStdin`. */
  stdin?: string | Uint8Array;
  /** It is killed after this long, at most 7 days. Default: never. */
  timeout?: DurationInput;
  /**
   * `rerun`: when its machine is lost it runs again, up to 5 times, from the last version; `stdin` is all of its input.
   * Default: `reject`, it ends as `lost`.
   */
  onLost?: OnLost;
  /**
   * A repeated request with the same key returns the first exec. By default the client makes a key, so that it can
   * repeat the request safely.
   */
  idempotencyKey?: string;
};

/**
 * How a command ended, with the last MiB of each output. `stdoutTruncated` and `stderrTruncated` say whether there was
 * more.
 */
export type ExecOutcome = Omit<ExecResult, "stdout" | "stderr"> & {
  /** As UTF-8. */
  stdout: string;
  /** As `stdout`, of errors. */
  stderr: string;
  /** Both as they were written. */
  bytes: { stdout: Uint8Array; stderr: Uint8Array };
};

/** A command in a workspace. */
export type ExecHandle = {
  /** The command's id. */
  readonly id: string;
  /** The workspace it runs in. */
  readonly workspaceId: string;
  /** The standard output. */
  readonly stdout: ProcessOutput;
  /** The standard error output. */
  readonly stderr: ProcessOutput;
  /** The command as it is now. */
  get(options?: RequestOptions): Promise<Exec>;
  /**
   * Appends to the input of the process, each byte once. Calls are sent one after another, and wait while the process
   * does not read. Rejects with a ConflictError `invalid_state` when the process has ended or the input is closed.
   */
  write(content: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** The process reads the end after all that was written. Closing again changes nothing. */
  closeStdin(options?: CallOptions): Promise<void>;
  /** To the whole process group. One that has not begun and would be ended by it is cancelled. */
  signal(name: ProcessSignal, options?: CallOptions): Promise<Exec>;
  /** Once it has ended, however it ended: `exited`, `failed` (it could not be started), `cancelled` or `lost`. */
  wait(options?: ProcessWaitOptions): Promise<Exec>;
  /** As `wait`, with the output. Does not reject when the command fails: check `status` and `exitCode`. */
  result(options?: ProcessWaitOptions): Promise<ExecOutcome>;
};

/** `client.workspaces.execs`. */
export type ExecsApi = {
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const exec of client.workspaces.execs.list("ws_01k…")) console.log(exec.status);
   * ```
   */
  list(workspaceId: string, query?: PageQuery, options?: RequestOptions): PagedList<Exec>;
  /**
   * One command. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const { exitCode } = await client.workspaces.execs.get("ws_01k…", "exec_01k…");
   * ```
   */
  get(workspaceId: string, execId: string, options?: RequestOptions): Promise<Exec>;
  /**
   * A handle of an exec. It sends no request before you call its methods.
   *
   * @example
   * ```ts
   * const ended = await client.workspaces.execs.open("ws_01k…", "exec_01k…").wait();
   * ```
   */
  open(workspaceId: string, execId: string): ExecHandle;
};

const toWireExec = (command: readonly string[], options: ExecOptions): CreateExec => ({
  command: [...command],
  ...(options.cwd !== undefined && { cwd: options.cwd }),
  ...(options.env !== undefined && { env: { ...options.env } }),
  ...(options.stdin !== undefined && { stdin: encodeBase64(bytesOf(options.stdin)) }),
  ...(options.timeout !== undefined && { timeout: toWireDuration(options.timeout, "timeout") }),
  ...(options.onLost !== undefined && { on_lost: options.onLost }),
  idempotency_key: options.idempotencyKey ?? randomKey(),
});

export function toExecOutcome({ stdout, stderr, ...result }: ExecResult): ExecOutcome {
  const bytes = { stdout: decodeBase64(stdout), stderr: decodeBase64(stderr) };
  const decoder = new TextDecoder();
  return { ...result, stdout: decoder.decode(bytes.stdout), stderr: decoder.decode(bytes.stderr), bytes };
}

const execPath = (workspaceId: string, execId: string, rest = ""): string =>
  workspacePath(workspaceId, `/execs/${encodeURIComponent(execId)}${rest}`);

const resultPath = (workspaceId: string, execId: string): string =>
  `/v1/workspaces/${encodeURIComponent(workspaceId)}/exec/${encodeURIComponent(execId)}`;

function createExecHandle(transport: Transport, workspaceId: string, id: string, taken?: number): ExecHandle {
  const at = (rest = ""): string => execPath(workspaceId, id, rest);
  const get = (options: RequestOptions = {}): Promise<Exec> =>
    transport.ask(execShape, { method: "GET", path: at(), ...options });
  const untilEnded = (options: ProcessWaitOptions): Promise<void> =>
    untilProcessEnded(transport, at("/stdout"), options);
  const signalOf = ({ signal }: ProcessWaitOptions): RequestOptions =>
    signal === undefined ? {} : { signal };
  const write = createInputWriter(
    transport,
    at("/stdin"),
    async (options) => taken ?? (await get(options)).stdin.bytes,
  );
  return {
    id,
    workspaceId,
    stdout: createProcessOutput(transport, at("/stdout")),
    stderr: createProcessOutput(transport, at("/stderr")),
    get,
    write,
    async closeStdin(options = {}) {
      // After the writes that were called before it.
      await write("", options);
      const body = { json: {} };
      const path = at("/stdin/close");
      await transport.request({ method: "POST", path, body, repeatable: true, ...callOptions(options) });
    },
    signal: (name, options = {}) =>
      transport.ask(execShape, {
        method: "POST",
        path: at("/signal"),
        body: { json: { signal: name } },
        ...callOptions(options),
      }),
    async wait(options = {}) {
      await untilEnded(options);
      return get(signalOf(options));
    },
    async result(options = {}) {
      await untilEnded(options);
      const path = resultPath(workspaceId, id);
      return toExecOutcome(
        await transport.ask(execResultShape, { method: "GET", path, ...signalOf(options) }),
      );
    },
  };
}

/** Starts a command as it is, without a shell, once the workspace is live. */
export async function startExec(
  transport: Transport,
  workspaceId: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<ExecHandle> {
  checkCommand(command, "exec()");
  const exec = await transport.ask(execShape, {
    method: "POST",
    path: workspacePath(workspaceId, "/execs"),
    body: { json: toWireExec(command, options) },
    repeatable: true,
    ...callOptions(options),
  });
  // What is known of an exec that may have been created earlier is how it was then.
  const taken = options.idempotencyKey === undefined ? exec.stdin.bytes : undefined;
  return createExecHandle(transport, workspaceId, exec.id, taken);
}

export const createExecsApi = (transport: Transport): ExecsApi => ({
  list: (workspaceId, query = {}, options = {}) =>
    listOf(transport, execShape, workspacePath(workspaceId, "/execs"), "execs", query, options),
  get: (workspaceId, execId, options = {}) =>
    transport.ask(execShape, { method: "GET", path: execPath(workspaceId, execId), ...options }),
  open: (workspaceId, execId) => createExecHandle(transport, workspaceId, execId),
});

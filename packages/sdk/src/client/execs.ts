import type { CreateExec, Exec, ExecResult } from "@keelson/contract";
import type { ProcessSignal } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { bytesOf, decodeBase64, encodeBase64 } from "./base64.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { createInputWriter } from "./process-input.ts";
import { createProcessOutput, type ProcessOutput } from "./process-output.ts";
import { randomKey } from "./random.ts";
import type { Transport } from "./transport.ts";
import { untilProcessEnded, type ProcessWaitOptions } from "./wait-for-process.ts";
import { workspacePath } from "./workspace-path.ts";

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
  /** A second exec with the same key gives the first one. Default: a key of its own, so that a lost answer is asked for again. */
  idempotencyKey?: string;
};

/** How a command ended and what it wrote. The last MiB of each output; `stdout_truncated` and `stderr_truncated` say when there was more. */
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
  /** What it writes. */
  readonly stdout: ProcessOutput;
  /** What it writes as errors. */
  readonly stderr: ProcessOutput;
  /** The command as it is now. */
  get(options?: RequestOptions): Promise<Exec>;
  /**
   * Appends to its input; calls are sent one after another, and waits while the process does not read. Never taken twice.
   * Rejects with a ConflictError `invalid_state` once the process has ended or the input is closed.
   */
  write(content: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** The process reads the end after all that was written. Closing again changes nothing. */
  closeStdin(options?: CallOptions): Promise<void>;
  /** To the whole process group. One that has not begun and would be ended by it is cancelled. */
  signal(name: ProcessSignal, options?: CallOptions): Promise<Exec>;
  /** Once it has ended, however it ended: `exited`, `failed` (it could not be started), `cancelled` or `lost`. */
  wait(options?: ProcessWaitOptions): Promise<Exec>;
  /** As `wait`, with what it wrote. Does not reject when the command fails: look at `status` and `exit_code`. */
  result(options?: ProcessWaitOptions): Promise<ExecOutcome>;
};

/** `client.workspaces.execs`. */
export type ExecsApi = {
  /** Newest first. */
  list(workspaceId: string, query?: PageQuery, options?: RequestOptions): PagedList<Exec>;
  /** One command; a NotFoundError when there is none. */
  get(workspaceId: string, execId: string, options?: RequestOptions): Promise<Exec>;
  /** An exec at hand. Nothing is asked before its methods are called. */
  open(workspaceId: string, execId: string): ExecHandle;
};

const toWireExec = (command: readonly string[], options: ExecOptions): CreateExec => ({
  command: [...command],
  ...(options.cwd !== undefined && { cwd: options.cwd }),
  ...(options.env !== undefined && { env: { ...options.env } }),
  ...(options.stdin !== undefined && { stdin: encodeBase64(bytesOf(options.stdin)) }),
  ...(options.timeout !== undefined && { timeout: toWireDuration(options.timeout, "timeout") }),
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
    transport.request({ method: "GET", path: at(), ...options });
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
      transport.request({
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
      return toExecOutcome(await transport.request({ method: "GET", path, ...signalOf(options) }));
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
  const exec = await transport.request<Exec>({
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
    listOf(transport, workspacePath(workspaceId, "/execs"), "execs", query, options),
  get: (workspaceId, execId, options = {}) =>
    transport.request({ method: "GET", path: execPath(workspaceId, execId), ...options }),
  open: (workspaceId, execId) => createExecHandle(transport, workspaceId, execId),
});

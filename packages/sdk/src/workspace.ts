import type { ExecOutcome } from "./client/execs.ts";
import type { DurationInput } from "./duration-input.ts";

/** Options of `ctx.workspace.exec()`. */
export type RunExecOptions = {
  /** A folder of the workspace. Default: its root. */
  cwd?: string;
  /** Besides the sandbox's. Only the names can be read back. */
  env?: Readonly<Record<string, string>>;
  /** All of its input. Default: none. */
  stdin?: string | Uint8Array;
  /** It is killed after this long, at most 7 days. Default: never. */
  timeout?: DurationInput;
};

/** How a command ended and what it wrote, as the client's `exec.result()` gives it. */
export type RunExecOutcome = ExecOutcome;

/** The workspace that a run works in. It is live on the machine of the run; when the run ends or is suspended, its files are committed. */
export type RunWorkspace = {
  /** The workspace's id. */
  readonly id: string;
  /** The absolute path of its files here, for `node:fs`. It may be another when the run goes on elsewhere. */
  readonly path: string;
  /**
   * Runs a command, without a shell, inside the workspace's sandbox, and resolves when it has ended; a command that fails
   * does not reject, look at `exit_code`. It happens once: replayed, the call has the outcome of the first time. What it
   * writes can be followed as any exec's of the workspace. Not inside a step: it is one by itself.
   *
   * Rejects when the command could not be started, or was lost with the machine it ran on.
   */
  exec(command: readonly string[], options?: RunExecOptions): Promise<RunExecOutcome>;
};

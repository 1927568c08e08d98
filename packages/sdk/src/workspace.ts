import type { OnLost } from "@keelson/contract/plain";
import type { ExecOutcome } from "./client/execs.ts";
import type { DurationInput } from "./duration-input.ts";
import type { RunWorkspaceFiles } from "./workspace-files.ts";

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
  /**
   * The effect of an infrastructure failure on the command: its machine is lost, or the worker stops. `rerun` (default)
   * runs the command again, up to 5 times, from the workspace's last version, which has the files from before the
   * command. `reject` rejects the call with an ExecLostError, also in every replay.
   */
  onLost?: OnLost;
  /**
   * Ends the command when it is aborted: SIGTERM to the process group, and SIGKILL two seconds later. The call rejects with the reason of the
   * signal once the command has ended. Already aborted: the command does not start. A replay has the same outcome, whenever the signal is aborted
   * there; it rejects with an `AbortError` when its signal is not aborted.
   */
  signal?: AbortSignal;
};

/** How a command ended, with its output, as in the client's `exec.result()`. */
export type RunExecOutcome = ExecOutcome;

/**
 * The workspace that a run works in. It is live on the machine of the run; when the run ends or is suspended, its files
 * are committed.
 */
export type RunWorkspace = {
  /** The workspace's id. */
  readonly id: string;
  /**
   * Reads and writes its files. Use this for all files of the workspace: it stays inside, whatever programs do there.
   */
  readonly files: RunWorkspaceFiles;
  /**
   * The absolute path of its folder on this machine, for tools of your own code that need a real folder. It may be another
   * when the run goes on elsewhere. In a task with `isolation: "namespace"` nothing is there: use `files`.
   *
   * Not safe when a program that you do not trust has written to the workspace: `node:fs` follows symbolic links that such
   * a program planted, and reads and writes files of the machine with the rights of the worker. Use `files` instead.
   */
  readonly path: string;
  /**
   * Runs a command without a shell inside the workspace's sandbox, and resolves when it has ended. A command that fails
   * does not reject: check `exitCode`. A command that has ended does not run again, and a replay returns its first
   * outcome. A command that was lost before its end runs again, see `onLost`. Its output can be followed like the output
   * of any exec of the workspace. Do not call it inside a step.
   *
   * Rejects when the command could not be started, and with an ExecLostError when the command was lost and `onLost` is
   * `reject`. Rejects with an InterruptedError when a message of `output.message()` is interrupted that is open and began before: at once, and
   * the command is ended as by `signal`.
   */
  exec(command: readonly string[], options?: RunExecOptions): Promise<RunExecOutcome>;
};

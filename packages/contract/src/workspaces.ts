/** States and kinds of workspaces and of what runs in them: the words of the wire. */

export const WORKSPACE_STATUSES = ["active", "deleting", "deleted"] as const;
export type WorkspaceStatus = (typeof WORKSPACE_STATUSES)[number];

export const MATERIALIZATION_STATUSES = [
  "requested",
  "preparing",
  "live",
  "stopping",
  "uncommitted",
  "stopped",
  "failed",
] as const;
export type MaterializationStatus = (typeof MATERIALIZATION_STATUSES)[number];

/** From weakest to strongest. `process` is no security boundary; `namespace` is. */
export const ISOLATIONS = ["process", "namespace"] as const;
export type Isolation = (typeof ISOLATIONS)[number];

/** What made a version. */
export const VERSION_CAUSES = ["create", "exec", "pty", "run", "stop", "write"] as const;
export type VersionCauseKind = (typeof VERSION_CAUSES)[number];

/** Why something in a folder is not in the version that was made of it. */
export const LEFT_OUT_REASONS = ["path_too_long", "too_many_entries", "unreadable", "name"] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

export const FILE_KINDS = ["file", "directory", "symlink"] as const;
export type FileKind = (typeof FILE_KINDS)[number];

export const DIFF_CHANGES = ["added", "removed", "modified"] as const;
export type DiffChange = (typeof DIFF_CHANGES)[number];

export const EXEC_STATUSES = ["pending", "running", "exited", "failed", "cancelled", "lost"] as const;
export type ExecStatus = (typeof EXEC_STATUSES)[number];

/** What becomes of an exec that infrastructure took: it is lost, or runs again. */
export const ON_LOST = ["reject", "rerun"] as const;
export type OnLost = (typeof ON_LOST)[number];

export const PTY_STATUSES = ["pending", "running", "exited", "closed", "lost"] as const;
export type PtyStatus = (typeof PTY_STATUSES)[number];

/** Where the bytes of a process go: an exec has two, a PTY has `output`. */
export const PROCESS_STREAMS = ["stdout", "stderr", "output"] as const;
export type ProcessStream = (typeof PROCESS_STREAMS)[number];

/** Signals that a caller may send. */
export const PROCESS_SIGNALS = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
  "SIGTERM",
  "SIGCONT",
  "SIGSTOP",
  "SIGWINCH",
] as const;
export type ProcessSignal = (typeof PROCESS_SIGNALS)[number];

/** Every environment has it, whatever its deployments declare. */
export const DEFAULT_SANDBOX = "default";

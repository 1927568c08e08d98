import type { Logger } from "../log.ts";
import type { Reporter } from "../reporter/reporter.ts";
import type { HostPool } from "../task-hosts/host-pool.ts";
import type { TaskHost } from "../task-hosts/task-host.ts";
import type { HostMeans } from "./complete-host-spec.ts";
import type { WorkspaceAccess } from "./run-workspace.ts";
import type { RunningExecution } from "./running-execution.ts";

/** What a leased attempt is run with. */
export type ExecutionContext = HostMeans & {
  /** Where code of runs reaches the server. */
  serverUrl: string;
  hosts: HostPool;
  reporter: Reporter;
  workspaces: WorkspaceAccess;
  /** The present time as the wire writes it. */
  timestamp(): string;
  monotonic(): number;
  logger: Logger;
  stopGraceMs: number;
  maxLogBytes: number;
  /** It only waits and needs no slot. */
  onParked(execution: RunningExecution, host: TaskHost): void;
  /** It goes on. */
  onUnparked(execution: RunningExecution): void;
  /** The process is free for another run. */
  onEnded(execution: RunningExecution): void;
  /** The lease is over: nothing of it needs renewing. */
  onClosed(execution: RunningExecution): void;
};

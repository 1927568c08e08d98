import type { Clock } from "../clock.ts";
import type { WorkspaceCgroups } from "../limits/workspace-cgroup.ts";
import type { Logger } from "../log.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import type { IsolationProbe } from "../sandboxes/probe-isolation.ts";
import type { SpareSupervisor } from "../supervisor/spare-supervisor.ts";
import type { BlobCache } from "./blob-cache.ts";
import type { HeldWorkspace } from "./held-workspace.ts";
import type { Turns } from "./turns.ts";

/** What all workspaces of an agent have in common. */
export type WorkspaceContext = {
  client: WorkerClient;
  /** The agent's own folder: supervisors are found again there. */
  home: string;
  /** Every materialization has a folder of its own in it. */
  folder: string;
  cache: BlobCache;
  transfers: Turns;
  /** What works on this machine. */
  probe: IsolationProbe;
  /** Null: the agent may have none. */
  cgroups: WorkspaceCgroups | null;
  /** What the files of one workspace may take. */
  diskBytes: number;
  spares: SpareSupervisor;
  leaseDurationMs(): number;
  /** No lease has run out since it was last renewed. */
  hasLease(): boolean;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Told of each commit that failed. */
  noteCommitFailed(): void;
  /** It is not held any more. */
  onEnded(workspace: HeldWorkspace): void;
};

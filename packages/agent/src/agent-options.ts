import type { BundleUses } from "./bundles/bundle-uses.ts";
import type { EvictionBound } from "./bundles/decide-eviction.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";
import type { AgentCounts } from "./metrics/agent-counts.ts";
import type { WorkerClient } from "./protocol/worker-client.ts";
import type { Random } from "./random.ts";
import type { GroupReaper } from "./task-hosts/group-reaper.ts";
import type { HostHomes } from "./task-hosts/host-homes.ts";
import type { TaskTier } from "./task-hosts/task-tier.ts";
import type { TaskUsers } from "./task-hosts/task-users.ts";
import type { WorkspaceLoop } from "./workspaces/workspace-loop.ts";

/** What an agent is put together from. */
export type AgentOptions = {
  /** Where this worker's runs reach the server. */
  url: string;
  client: WorkerClient;
  reaper: GroupReaper;
  capacity: number;
  /** null: this worker takes no workspaces. */
  workspaces: WorkspaceLoop | null;
  dataDir: string;
  bundleUses: BundleUses;
  bundleBound: EvictionBound;
  hostHomes: HostHomes;
  taskUsers: TaskUsers;
  taskTier: TaskTier;
  hostEnvironment: Record<string, string>;
  /** What its parts count. */
  counts: AgentCounts;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** null: a third of what the server says a lease lasts, at most 5,000. */
  renewIntervalMs: number | null;
  stopGraceMs: number;
  drainTimeoutMs: number;
  maxLogBytes: number;
};

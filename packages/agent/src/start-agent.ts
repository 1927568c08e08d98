import { join, resolve } from "node:path";
import { platformOf, WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import { claimAgentFolder, type AgentFolder } from "./agent-folder.ts";
import { Agent } from "./agent.ts";
import { openBundleUses } from "./bundles/bundle-uses.ts";
import { systemClock } from "./clock.ts";
import { readHostEnvironment } from "./config.ts";
import type { Logger } from "./log.ts";
import { findCgroups } from "./limits/find-cgroups.ts";
import { openWorkerClient, type WorkerClient } from "./protocol/worker-client.ts";
import { createAgentCounts, type AgentCounts } from "./metrics/agent-counts.ts";
import { openMetrics, type MetricsPlace } from "./metrics/open-metrics.ts";
import { openIdentityStore } from "./protocol/worker-identity.ts";
import { systemRandom } from "./random.ts";
import { describeIsolation, probeIsolation, type IsolationProbe } from "./sandboxes/probe-isolation.ts";
import { DEFAULT_LIMITS } from "./sandboxes/sandbox.ts";
import { SpareSupervisor } from "./supervisor/spare-supervisor.ts";
import { startGroupReaper } from "./task-hosts/group-reaper.ts";
import { openHostHomes } from "./task-hosts/host-homes.ts";
import { describeTaskTier, openTaskTier, type TaskTier } from "./task-hosts/task-tier.ts";
import { AGENT_ALONE, openTaskUsers } from "./task-hosts/task-users.ts";
import { openBlobCache } from "./workspaces/blob-cache.ts";
import { createTurns } from "./workspaces/turns.ts";
import { WorkspaceLoop } from "./workspaces/workspace-loop.ts";

/** Blobs that are fetched or stored at a time: half of the connections are left to everything else. */
const TRANSFERS = 8;

export type StartAgentOptions = {
  /** Base URL of the server, with or without a path. */
  url: string;
  enrollmentToken: string;
  /** Shown to operators; need not be unique. */
  name: string;
  /** Runs at once, from 1. */
  capacity: number;
  /** Workspaces at once; default 0, which takes none. */
  workspaces?: number;
  /** What the files of one workspace may take on the disk. Default 32 GiB. */
  workspaceDiskBytes?: number;
  /** Bundles are cached and workspaces live here; several agents of one machine may share it. */
  dataDir: string;
  /** Sent as `Service-Client-Version` and recorded with the worker. */
  version: string;
  logger: Logger;
  /**
   * Variables that tasks see besides this process's PATH, HOME, LANG, LC_*, TZ and NODE_ENV, its working directory as
   * KEELSON_WORKER_DIR, and a TMPDIR of their own.
   */
  taskEnvironment?: Record<string, string>;
  /**
   * Whether tasks run as this process's user even when it is root. Default: root gives each environment a user of its own.
   */
  keepsUser?: boolean;
  /** Default: a third of the server's lease duration, at most 5,000. */
  renewIntervalMs?: number;
  /** From a cancellation to the end of the process. Default 10,000. */
  stopGraceMs?: number;
  /** From a drain until running runs are handed back. Default 30,000. */
  drainTimeoutMs?: number;
  /** Output kept of one run, in bytes; the rest is cut with a mark. Default 64 MiB. */
  maxLogBytes?: number;
  /** What is kept of fetched workspace files, in bytes. Default 4 GiB. */
  blobCacheBytes?: number;
  /** What bundles may take in the data folder, in bytes, besides those in use. Default 5 GiB. */
  bundleCacheBytes?: number;
  /** How long a bundle is kept that nobody uses. Default 30 days. */
  bundleCacheAgeMs?: number;
  /** Where `/metrics` is served. Default: nowhere. */
  metrics?: MetricsPlace | null;
  /** Ends the wait for a server that does not answer yet. */
  signal?: AbortSignal;
};

export type RunningAgent = {
  workerId: string;
  /**
   * Takes no new runs, lets the present ones finish, hands back what does not, commits and stops workspaces; resolves when
   * all is reported.
   */
  drain(): Promise<void>;
  /** Kills all runs and processes, and resolves when none is left. What changed in workspaces is left to the next start. */
  stop(): Promise<void>;
  /** Resolves when it has ended: after `drain`, `stop`, or a drain that was asked for on the server. */
  ended: Promise<void>;
};

/**
 * Enrolls with the server and begins to execute runs; with workspaces, as the worker that the folder says it was. Waits while the server cannot be reached; rejects
 * with `ServiceError` when it refuses the enrollment or the protocol.
 */
export async function startAgent(options: StartAgentOptions): Promise<RunningAgent> {
  const { url, name, capacity, dataDir, logger } = options;
  const { workspaces = 0 } = options;
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new RangeError(`capacity must be a whole number from 1, not ${capacity}`);
  const counts = createAgentCounts();
  const metrics = await openMetrics(options.metrics ?? null, counts, logger);
  const folder = await claimAgentFolder(dataDir, name).catch((error: unknown) => {
    metrics.close();
    throw error;
  });
  const release = async (): Promise<void> => {
    metrics.close();
    await folder.release();
  };
  try {
    const agent = await startWithin(folder, options, counts);
    metrics.show(() => agent.numbers());
    logger.info({ workerId: agent.workerId(), url, capacity, workspaces }, "agent started");
    const released = async (ending: Promise<void>): Promise<void> => {
      await ending;
      await release();
    };
    return {
      workerId: agent.workerId(),
      drain: () => released(agent.drain()),
      stop: () => released(agent.stop()),
      ended: released(agent.ended),
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** The parts of an agent that has the folder for itself. */
async function startWithin(
  folder: AgentFolder,
  options: StartAgentOptions,
  counts: AgentCounts,
): Promise<Agent> {
  const { url, capacity, dataDir, logger, workspaces = 0 } = options;
  const taskUsers =
    options.keepsUser === true
      ? AGENT_ALONE
      : await openTaskUsers({ dataDir: resolve(dataDir), agentFolder: folder.path, logger });
  const hostHomes = await openHostHomes(join(folder.path, "hosts"), logger);
  const probe = await probeIsolation({ dataDir: folder.path });
  const taskTier = await openTaskTier(probe, { dataDir: resolve(dataDir), agentFolder: folder.path });
  logger.info(
    { isolation: probe.isolation, problems: probe.problems, taskProblem: taskTier.problem },
    "workspaces, and tasks that ask for it, are isolated",
  );
  const client = await enroll(options, workspaces, folder, { probe, taskTier });
  const reaper = startGroupReaper(hostHomes.mark, (err) =>
    logger.error({ err }, "the shell that ends orphaned task hosts is gone"),
  );
  return new Agent({
    url,
    client,
    reaper,
    capacity,
    workspaces:
      workspaces === 0 ? null : await openWorkspaces(options, workspaces, { folder, client, probe, counts }),
    dataDir: resolve(dataDir),
    bundleUses: await openBundleUses(folder.path),
    bundleBound: {
      maxBytes: options.bundleCacheBytes ?? 5 * 1024 ** 3,
      maxAgeMs: options.bundleCacheAgeMs ?? 30 * 24 * 3_600_000,
    },
    hostHomes,
    taskUsers,
    taskTier,
    hostEnvironment: {
      ...readHostEnvironment(),
      KEELSON_WORKER_DIR: process.cwd(),
      ...options.taskEnvironment,
    },
    counts,
    clock: systemClock,
    random: systemRandom,
    logger,
    renewIntervalMs: options.renewIntervalMs ?? null,
    stopGraceMs: options.stopGraceMs ?? 10_000,
    drainTimeoutMs: options.drainTimeoutMs ?? 30_000,
    maxLogBytes: options.maxLogBytes ?? 64 * 1024 * 1024,
  });
}

/** @throws ServiceError when the server refuses. */
function enroll(
  { url, enrollmentToken, name, version, capacity, logger, signal }: StartAgentOptions,
  workspaces: number,
  folder: AgentFolder,
  { probe, taskTier }: { probe: IsolationProbe; taskTier: TaskTier },
): Promise<WorkerClient> {
  return openWorkerClient({
    ...{ url, enrollmentToken, name, version, logger },
    registration: {
      name,
      capacity: { executions: capacity, workspaces },
      version,
      node_version: process.versions.node,
      platform: platformOf(process),
      ...(workspaces === 0 ? {} : describeIsolation(probe)),
      ...describeTaskTier(taskTier),
      worker_protocol_version: WORKER_PROTOCOL_VERSION,
    },
    clock: systemClock,
    random: systemRandom,
    identity: workspaces > 0 ? openIdentityStore(folder.path, url) : null,
    signal: signal ?? new AbortController().signal,
  });
}

type WorkspaceParts = {
  folder: AgentFolder;
  client: WorkerClient;
  probe: IsolationProbe;
  counts: AgentCounts;
};

async function openWorkspaces(
  { logger, renewIntervalMs, blobCacheBytes, workspaceDiskBytes }: StartAgentOptions,
  capacity: number,
  { folder: { path }, client, probe, counts }: WorkspaceParts,
): Promise<WorkspaceLoop> {
  const cache = await openBlobCache(join(path, "blobs"), {
    maxBytes: blobCacheBytes ?? 4 * 1024 ** 3,
    clock: systemClock,
    logger,
  });
  return new WorkspaceLoop({
    client,
    home: path,
    folder: join(path, "workspaces"),
    capacity,
    cache,
    transfers: createTurns(TRANSFERS),
    probe,
    cgroups: await findCgroups(path, logger),
    diskBytes: workspaceDiskBytes ?? DEFAULT_LIMITS.diskBytes,
    spares: new SpareSupervisor(path, probe, logger),
    noteCommitFailed: () => (counts.commitsFailed += 1),
    clock: systemClock,
    random: systemRandom,
    logger,
    renewIntervalMs: renewIntervalMs ?? null,
  });
}

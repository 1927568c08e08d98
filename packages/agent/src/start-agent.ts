import { join } from "node:path";
import { WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import { claimAgentFolder, type AgentFolder } from "./agent-folder.ts";
import { Agent } from "./agent.ts";
import { systemClock } from "./clock.ts";
import { readHostEnvironment } from "./config.ts";
import type { Logger } from "./log.ts";
import { openWorkerClient, type WorkerClient } from "./protocol/worker-client.ts";
import { openIdentityStore } from "./protocol/worker-identity.ts";
import { systemRandom } from "./random.ts";
import { probeIsolation } from "./sandboxes/probe-isolation.ts";
import { startGroupReaper } from "./task-hosts/group-reaper.ts";
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
  /** Bundles are cached and workspaces live here; several agents of one machine may share it. */
  dataDir: string;
  /** Sent as `Service-Client-Version` and recorded with the worker. */
  version: string;
  logger: Logger;
  /** Variables that tasks see besides PATH, HOME, LANG, LC_*, TZ, TMPDIR and NODE_ENV. */
  taskEnvironment?: Record<string, string>;
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
};

/**
 * Enrolls with the server and begins to execute runs; with workspaces, as the worker that the folder says it was. Waits while the server cannot be reached; rejects
 * with `ServiceError` when it refuses the enrollment or the protocol.
 */
export async function startAgent(options: StartAgentOptions): Promise<RunningAgent> {
  const { url, enrollmentToken, name, version, capacity, dataDir, logger } = options;
  const workspaces = options.workspaces ?? 0;
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new RangeError(`capacity must be a whole number from 1, not ${capacity}`);
  const folder = workspaces > 0 ? await claimAgentFolder(dataDir, name) : null;
  try {
    const client = await openWorkerClient({
      url,
      enrollmentToken,
      name,
      version,
      registration: {
        name,
        capacity: { executions: capacity, workspaces },
        version,
        worker_protocol_version: WORKER_PROTOCOL_VERSION,
      },
      clock: systemClock,
      random: systemRandom,
      logger,
      identity: folder === null ? null : openIdentityStore(folder.path, url),
      signal: options.signal ?? new AbortController().signal,
    });
    const reaper = startGroupReaper((err) =>
      logger.error({ err }, "the shell that ends orphaned task hosts is gone"),
    );
    const agent = new Agent({
      client,
      reaper,
      capacity,
      workspaces: folder === null ? null : await openWorkspaces(options, workspaces, folder, client),
      dataDir,
      hostEnvironment: { ...readHostEnvironment(), ...options.taskEnvironment },
      clock: systemClock,
      random: systemRandom,
      logger,
      renewIntervalMs: options.renewIntervalMs ?? null,
      stopGraceMs: options.stopGraceMs ?? 10_000,
      drainTimeoutMs: options.drainTimeoutMs ?? 30_000,
      maxLogBytes: options.maxLogBytes ?? 64 * 1024 * 1024,
    });
    logger.info({ workerId: client.workerId(), url, capacity, workspaces }, "agent started");
    const released = async (ending: Promise<void>): Promise<void> => {
      await ending;
      await folder?.release();
    };
    return {
      workerId: client.workerId(),
      drain: () => released(agent.drain()),
      stop: () => released(agent.stop()),
    };
  } catch (error) {
    await folder?.release();
    throw error;
  }
}

async function openWorkspaces(
  { logger, renewIntervalMs, blobCacheBytes }: StartAgentOptions,
  capacity: number,
  { path }: AgentFolder,
  client: WorkerClient,
): Promise<WorkspaceLoop> {
  const cache = await openBlobCache(join(path, "blobs"), {
    maxBytes: blobCacheBytes ?? 4 * 1024 ** 3,
    clock: systemClock,
    logger,
  });
  const probe = await probeIsolation({ dataDir: path });
  logger.info({ isolation: probe.isolation, problems: probe.problems }, "workspaces are isolated");
  return new WorkspaceLoop({
    client,
    home: path,
    folder: join(path, "workspaces"),
    capacity,
    cache,
    transfers: createTurns(TRANSFERS),
    probe,
    clock: systemClock,
    random: systemRandom,
    logger,
    renewIntervalMs: renewIntervalMs ?? null,
  });
}

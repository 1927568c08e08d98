import { WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import { Agent } from "./agent.ts";
import { systemClock } from "./clock.ts";
import { readHostEnvironment } from "./config.ts";
import type { Logger } from "./log.ts";
import { openWorkerClient } from "./protocol/worker-client.ts";
import { systemRandom } from "./random.ts";
import { startGroupReaper } from "./task-hosts/group-reaper.ts";

export type StartAgentOptions = {
  /** Base URL of the server, with or without a path. */
  url: string;
  enrollmentToken: string;
  /** Shown to operators; need not be unique. */
  name: string;
  /** Runs at once, from 1. */
  capacity: number;
  /** Bundles are cached here; several agents may share it. */
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
  /** Ends the wait for a server that does not answer yet. */
  signal?: AbortSignal;
};

export type RunningAgent = {
  workerId: string;
  /** Takes no new runs, lets the present ones finish, hands back what does not; resolves when all is reported. */
  drain(): Promise<void>;
  /** Kills all runs and resolves when no process is left. */
  stop(): Promise<void>;
  /** Resolves when it has ended: after `drain`, `stop`, or a drain that was asked for on the server. */
  ended: Promise<void>;
};

/**
 * Enrolls with the server as a new worker and begins to execute runs. Waits while the server cannot be reached; rejects
 * with `ServiceError` when it refuses the enrollment or the protocol.
 */
export async function startAgent(options: StartAgentOptions): Promise<RunningAgent> {
  const { url, enrollmentToken, name, version, capacity, dataDir, logger } = options;
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new RangeError(`capacity must be a whole number from 1, not ${capacity}`);
  const client = await openWorkerClient({
    url,
    enrollmentToken,
    name,
    version,
    registration: {
      name,
      capacity: { executions: capacity, workspaces: 0 },
      version,
      worker_protocol_version: WORKER_PROTOCOL_VERSION,
    },
    clock: systemClock,
    random: systemRandom,
    logger,
    signal: options.signal ?? new AbortController().signal,
  });
  const reaper = startGroupReaper((err) =>
    logger.error({ err }, "the shell that ends orphaned task hosts is gone"),
  );
  const agent = new Agent({
    client,
    reaper,
    capacity,
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
  logger.info({ workerId: client.workerId(), url, capacity }, "agent started");
  return {
    workerId: client.workerId(),
    drain: () => agent.drain(),
    stop: () => agent.stop(),
    ended: agent.ended,
  };
}

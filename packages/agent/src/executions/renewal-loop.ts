import {
  LIMITS,
  type Cancellation,
  type HeldSecret,
  type RenewResponse,
  type Resumption,
  type WorkerHeard,
  type WorkerHeartbeat,
} from "@keelson/contract";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { pause } from "../pause.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { RunningExecution } from "./running-execution.ts";

/** After a failed renewal the next comes soon: there is only so much lease left. */
const RETRY_MS = 500;
const EXPIRY_CHECK_MS = 1_000;

export type RenewalLoopOptions = {
  client: WorkerClient;
  clock: Clock;
  logger: Logger;
  intervalMs(): number;
  leaseDurationMs(): number;
  leases(): Iterable<RunningExecution>;
  find(leaseId: string): RunningExecution | undefined;
  cancel(cancellations: Cancellation[]): void;
  resume(resumptions: Resumption[]): void;
  /** The server says that this worker is to end. */
  drain(): void;
  inUse(): NonNullable<WorkerHeartbeat["in_use"]>;
  heldSecrets(): HeldSecret[];
  /** Of those held these were replaced. */
  supersede(versions: HeldSecret[]): void;
  signal: AbortSignal;
};

/**
 * Renews all leases in one call, says that the worker lives, and stops what can no longer be known to be ours: an
 * execution whose lease was not renewed within its duration, counted from when the renewal was sent.
 */
export function startRenewalLoop(options: RenewalLoopOptions): void {
  const { signal } = options;
  const expiry = setInterval(() => stopExpired(options), EXPIRY_CHECK_MS);
  signal.addEventListener("abort", () => clearInterval(expiry), { once: true });
  void (async () => {
    let delayMs = options.intervalMs();
    while (!signal.aborted) {
      await pause(delayMs, signal);
      if (signal.aborted) return;
      delayMs = options.intervalMs();
      try {
        await Promise.all([renew(options), heartbeat(options)]);
      } catch (err) {
        if (signal.aborted) return;
        options.logger.warn({ err }, "leases could not be renewed; trying again");
        delayMs = Math.min(RETRY_MS, options.intervalMs());
      }
    }
  })();
}

async function renew(options: RenewalLoopOptions): Promise<void> {
  const renewing = [...options.leases()];
  if (renewing.length === 0) return;
  const body = `{"leases":[${renewing.map(({ channel }) => `{${channel.leaseText}}`).join(",")}]}`;
  const sentAt = options.clock.monotonic();
  const reply = await options.client.post<RenewResponse>("executions/renew", body, {
    timeoutMs: options.intervalMs(),
    signal: options.signal,
  });
  for (const leaseId of reply.renewed) {
    const execution = options.find(leaseId);
    if (execution !== undefined) execution.validUntil = sentAt + options.leaseDurationMs();
  }
  for (const leaseId of reply.lost) {
    const execution = options.find(leaseId);
    // A release that is on its way makes the lease unknown; what became of it is the report's answer.
    if (execution !== undefined && !execution.channel.released) execution.lose();
  }
  options.cancel(reply.cancellations);
  options.resume(reply.resumptions);
}

async function heartbeat(options: RenewalLoopOptions): Promise<void> {
  const held = options.heldSecrets().slice(0, LIMITS.heldSecrets);
  const body: WorkerHeartbeat = {
    in_use: options.inUse(),
    ...(held.length > 0 && { held_secrets: held }),
  };
  const { status, superseded_secrets } = await options.client.post<WorkerHeard>(
    "heartbeat",
    JSON.stringify(body),
    {
      timeoutMs: options.intervalMs(),
      signal: options.signal,
    },
  );
  options.supersede(superseded_secrets);
  if (status === "draining" || status === "drained") options.drain();
}

function stopExpired(options: RenewalLoopOptions): void {
  const now = options.clock.monotonic();
  for (const execution of options.leases()) {
    if (execution.validUntil > now || execution.channel.released) continue;
    options.logger.warn(
      { runId: execution.execution.run.id, leaseId: execution.channel.leaseId },
      "a lease ran out without a renewal; stopping its run",
    );
    execution.lose();
  }
}

import {
  LIMITS,
  type Cancellation,
  type HeldSecret,
  type InterruptedMessage,
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
  interrupt(interrupts: InterruptedMessage[]): void;
  /** The server says that this worker is to end. */
  drain(): void;
  inUse(): NonNullable<WorkerHeartbeat["in_use"]>;
  heldSecrets(): HeldSecret[];
  /** Of those held these were replaced. */
  supersede(versions: HeldSecret[]): void;
  signal: AbortSignal;
};

/**
 * Renews all leases in one call, and says that the worker lives. What could not be renewed in time is in doubt, not lost:
 * this machine may have slept, or nobody else may have been there to take it. Its code goes on, and ends when the server
 * says that the lease is over; until then the server refuses what an attempt reports that is not the current one.
 */
export function startRenewalLoop(options: RenewalLoopOptions): void {
  const { signal } = options;
  void (async () => {
    let delayMs = options.intervalMs();
    let renewedAt = options.clock.monotonic();
    let isInDoubt = false;
    const heard = (): void => {
      renewedAt = options.clock.monotonic();
      isInDoubt = false;
    };
    const notHeard = (): void => {
      if (isInDoubt || options.clock.monotonic() - renewedAt < options.leaseDurationMs()) return;
      isInDoubt = true;
      options.logger.warn(
        {},
        "leases could not be renewed for as long as they last; runs go on, and end if the server gave them to another worker",
      );
    };
    while (!signal.aborted) {
      await pause(delayMs, signal);
      if (signal.aborted) return;
      delayMs = options.intervalMs();
      try {
        await Promise.all([renew(options), heartbeat(options)]);
        heard();
      } catch (err) {
        if (signal.aborted) return;
        options.logger.warn({ err }, "leases could not be renewed; trying again");
        notHeard();
        delayMs = Math.min(RETRY_MS, options.intervalMs());
      }
    }
  })();
}

async function renew(options: RenewalLoopOptions): Promise<void> {
  const renewing = [...options.leases()];
  if (renewing.length === 0) return;
  const body = `{"leases":[${renewing.map(({ channel }) => `{${channel.leaseText}}`).join(",")}]}`;
  const reply = await options.client.post<RenewResponse>("executions/renew", body, {
    timeoutMs: options.intervalMs(),
    signal: options.signal,
  });
  for (const leaseId of reply.lost) {
    const execution = options.find(leaseId);
    // A release that is on its way makes the lease unknown; what became of it is the report's answer.
    if (execution !== undefined && !execution.channel.released) execution.lose();
  }
  options.cancel(reply.cancellations);
  options.resume(reply.resumptions);
  options.interrupt(reply.interrupts);
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

import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatDuration, LIMITS, type LeaseRequest, type LeaseResponse } from "@keelson/contract";
import type { Logger } from "../log.ts";
import { pause } from "../pause.ts";
import { retryDelayMs } from "../protocol/retry-calls.ts";
import { isTransient } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";

const WAIT_MS = 20_000;
/** A poll without free slots waits for cancellations and checks only, and is cut short when a slot becomes free. */
const FULL_WAIT_MS = 1_000;
/** How long the loop looks out for a free slot before it opens such a poll. */
const FULL_PATIENCE_MS = 250;
/** What is freed within this time after a full house is asked for at once. */
const COALESCE_MS = 2;
const REPLY_MARGIN_MS = 10_000;
/** A machine that is busy may answer late, and what is not fetched waits until its lease runs out. */
const SETTLE_MS = REPLY_MARGIN_MS;

export type LeaseLoopOptions = {
  client: WorkerClient;
  capacity: number;
  freeSlots(): number;
  /** Ids of the deployment checks that this worker is at: they are kept, and one that is not among them comes again. */
  heldChecks(): string[];
  receive(response: LeaseResponse): void;
  /** Its calls are counted here. */
  counts: { answered: number; failed: number };
  random: Random;
  logger: Logger;
};

/**
 * Keeps one long poll for work open. Each has a `lease_request_id`; one whose reply was lost is asked again under the
 * same id, so that its leases are not lost with it.
 */
export class LeaseLoop {
  readonly #options: LeaseLoopOptions;
  readonly #stopping = new AbortController();
  /** What the server is told first of all that stops. */
  #told: Promise<unknown> = Promise.resolve();
  readonly #finished: Promise<void>;
  #onWake: (() => void) | null = null;
  #abandoned = false;

  constructor(options: LeaseLoopOptions) {
    this.#options = options;
    this.#finished = this.#loop();
  }

  /** A slot became free. */
  wake(): void {
    this.#onWake?.();
  }

  /**
   * No new leases: the open poll is cut, and what its reply may have carried is fetched before this resolves. That is asked
   * once the server was told that the worker drains: from then on it gives nothing that could miss the answer.
   */
  async drain(told: Promise<unknown>): Promise<void> {
    this.#told = told;
    await this.#stop();
  }

  /** The open poll is cut, and nobody asks what its reply has carried. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#finished;
  }

  async #loop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const free = this.#options.freeSlots();
      // The next poll is written after the leased runs were handed to their hosts, which wait for it.
      if (free > 0)
        await this.#poll({
          lease_request_id: randomUUID(),
          limit: Math.min(free, LIMITS.leaseBatch),
          wait: formatDuration(WAIT_MS),
        }).then(nextTurn);
      else await this.#waitFull();
    }
  }

  async #waitFull(): Promise<void> {
    const woken = new AbortController();
    const wake = () => {
      // Called for each of hundreds of ends at once; aborting again would make an error object each time.
      this.#onWake = null;
      woken.abort();
    };
    this.#onWake = wake;
    this.#stopping.signal.addEventListener("abort", wake, { once: true });
    await pause(FULL_PATIENCE_MS, woken.signal);
    if (!woken.signal.aborted) {
      // A cancellation in a reply that is cut off here comes again with the next renewal, a check with the next poll.
      await this.#attempt(
        { lease_request_id: randomUUID(), limit: 0, wait: formatDuration(FULL_WAIT_MS) },
        woken.signal,
      ).catch((error: unknown) => (woken.signal.aborted ? undefined : this.#failed(error, 0)));
    }
    this.#onWake = null;
    this.#stopping.signal.removeEventListener("abort", wake);
    if (woken.signal.aborted && this.#options.freeSlots() < this.#options.capacity / 4)
      await pause(COALESCE_MS, this.#stopping.signal);
  }

  async #poll(request: LeaseRequest): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt(request, signal);
      } catch (error) {
        if (signal.aborted) return this.#settle(request);
        const repeat = await this.#failed(error, attempt);
        if (signal.aborted) return this.#settle(request);
        if (!repeat) return;
      }
    }
  }

  async #attempt(request: LeaseRequest, signal?: AbortSignal): Promise<void> {
    const timeoutMs = (request.limit === 0 ? FULL_WAIT_MS : WAIT_MS) + REPLY_MARGIN_MS;
    const body = JSON.stringify({
      ...request,
      deployment_checks: this.#options.heldChecks().slice(0, LIMITS.heldChecks),
    });
    const response = await this.#options.client.post<LeaseResponse>("executions/lease", body, {
      timeoutMs,
      ...(signal && { signal }),
    });
    this.#options.counts.answered += 1;
    this.#options.receive(response);
  }

  /** A poll that was cut may have been answered: asked again under its id and without free slots, it gives those leases and no others, and the check that its answer had. */
  async #settle(request: LeaseRequest): Promise<void> {
    await this.#told;
    if (this.#abandoned) return;
    await this.#attempt({ ...request, limit: 0, wait: "0ms" }, AbortSignal.timeout(SETTLE_MS)).catch(
      (err: unknown) =>
        this.#options.logger.warn(
          { err },
          "the last lease call could not be settled; leases it may have made run out by themselves",
        ),
    );
  }

  /** True when the same request should be repeated. */
  async #failed(error: unknown, attempt: number): Promise<boolean> {
    this.#options.counts.failed += 1;
    const transient = isTransient(error);
    if (!transient || attempt % 5 === 1)
      this.#options.logger.warn({ err: error }, "leasing work failed; trying again");
    await pause(
      transient ? retryDelayMs(attempt, error, this.#options.random) : 1_000,
      this.#stopping.signal,
    );
    return transient;
  }
}

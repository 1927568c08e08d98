import { LIMITS, type Execution, type ReportResponse } from "@keelson/contract";
import type { Logger } from "../log.ts";
import { pause } from "../pause.ts";
import { retryDelayMs } from "../protocol/retry-calls.ts";
import { isTransient, ServiceError } from "../protocol/service-error.ts";
import type { Random } from "../random.ts";
import { LeaseChannel, type ChannelListener, type QueuedOperation } from "./lease-channel.ts";

/** A report stays below the wire's 4 MiB, with room for its frame. */
const BATCH_BYTES = 3 * 1024 * 1024;
/**
 * How long a start waits for company at most: a run that ends at once is then one batch, which the server writes at once. All that
 * begin in such a time leave together.
 */
const SOON_MS = 25;

export type ReporterOptions = {
  send(body: string): Promise<ReportResponse>;
  /** The present, by the clock of the operations' own times. */
  timestamp(): string;
  /** In milliseconds. */
  monotonic(): number;
  random: Random;
  logger: Logger;
  /** Ends all sending; what is queued then is lost. */
  signal: AbortSignal;
  /** The backlog has become shorter. */
  onDelivered(): void;
};

/**
 * Sends the operations of all leases in order, one report at a time: a lone operation leaves at once, what comes
 * meanwhile is the next batch. A start leaves with the next operation of its lease, or a moment later. A repeat sends the same operations in the same order, and the server applies each once.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  #queue: QueuedOperation[] = [];
  #batch: QueuedOperation[] = [];
  #flushing = false;
  #scheduled = false;
  /** When the starts that came last leave without company. */
  #soonAt = 0;
  #soon: NodeJS.Timeout | null = null;
  #batchLimit: number = LIMITS.reportOperations;
  #whenIdle: (() => void)[] = [];

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  open(execution: Execution, listener: ChannelListener): LeaseChannel {
    return new LeaseChannel(execution, (operation) => this.#enqueue(operation), listener);
  }

  /** Operations that are queued or on the way. */
  backlog(): number {
    return this.#queue.length + this.#batch.length;
  }

  /** Resolves when nothing is queued nor on the way. */
  idle(): Promise<void> {
    return this.backlog() === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #enqueue(operation: QueuedOperation): void {
    this.#queue.push(operation);
    if (operation.urgency === "soon") {
      const now = this.#options.monotonic();
      if (this.#soonAt <= now) this.#soonAt = now + SOON_MS;
      operation.dueAt = this.#soonAt;
      if (!this.#flushing) this.#flushSoon(this.#soonAt);
      return;
    }
    if (this.#scheduled || this.#flushing) return;
    // After the present turn: everything that one message of a host or server caused leaves together.
    this.#scheduled = true;
    setImmediate(() => void this.#flush());
  }

  #flushSoon(at: number): void {
    this.#soon ??= setTimeout(() => void this.#flush(), Math.max(1, at - this.#options.monotonic()));
  }

  async #flush(): Promise<void> {
    this.#scheduled = false;
    if (this.#soon !== null) clearTimeout(this.#soon);
    this.#soon = null;
    if (this.#flushing) return;
    this.#flushing = true;
    const { signal } = this.#options;
    while (!signal.aborted) {
      this.#batch = this.#takeBatch();
      if (this.#batch.length === 0) break;
      await this.#deliver(this.#batch);
      this.#batch = [];
      this.#options.onDelivered();
    }
    this.#flushing = false;
    const [waiting] = this.#queue;
    if (waiting !== undefined && !signal.aborted) return this.#flushSoon(waiting.dueAt);
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** What leaves now, in order. Starts that wait for company stay. */
  #takeBatch(): QueuedOperation[] {
    const now = this.#options.monotonic();
    const queue = this.#queue;
    const batch: QueuedOperation[] = [];
    const waiting: QueuedOperation[] = [];
    let bytes = 0;
    let taken = 0;
    for (const operation of queue) {
      if (batch.length >= this.#batchLimit || (batch.length > 0 && bytes + operation.bytes > BATCH_BYTES))
        break;
      taken += 1;
      const { channel, urgency } = operation;
      if (channel.dropped) continue;
      if (urgency === "soon" && operation.dueAt > now && !channel.hasGoneOnAfter(operation)) {
        waiting.push(operation);
        continue;
      }
      batch.push(operation);
      bytes += operation.bytes;
    }
    this.#queue = [...waiting, ...queue.slice(taken)];
    return batch;
  }

  async #deliver(batch: QueuedOperation[]): Promise<void> {
    const { signal, logger, random, timestamp } = this.#options;
    const operations = batch.map((operation) => operation.text).join(",");
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        // A start may have waited for company, for the answer to the report before, or for this repeat.
        const body = `{"sent_at":"${timestamp()}","operations":[${operations}]}`;
        const { results } = await this.#options.send(body);
        this.#batchLimit = LIMITS.reportOperations;
        batch.forEach((operation, index) => {
          const { error = null, result = null } = results[index] ?? {};
          this.#settle(operation, error, result);
        });
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isTransient(error)) return this.#refuse(batch, error);
        if (batch.every((operation) => operation.channel.dropped)) return;
        if (attempt % 5 === 1)
          logger.warn({ err: error, operations: batch.length }, "a report was not answered; repeating it");
        await pause(retryDelayMs(attempt, error, random), signal);
      }
    }
  }

  /** A report that is refused as a whole: halve until the operation that the server cannot take is alone. */
  #refuse(batch: QueuedOperation[], error: unknown): void {
    if (batch.length > 1) {
      this.#batchLimit = Math.ceil(batch.length / 2);
      this.#queue = [...batch, ...this.#queue];
      return;
    }
    this.#batchLimit = LIMITS.reportOperations;
    this.#options.logger.error({ err: error }, "the server refused a report of one operation");
    const code = error instanceof ServiceError ? error.code : "internal";
    this.#settle(batch[0] as QueuedOperation, { code, message: messageOf(error as Error) }, null);
  }

  #settle(
    operation: QueuedOperation,
    error: { code: string; message: string } | null,
    result: unknown,
  ): void {
    const { channel, kind, sequence } = operation;
    if (channel.dropped || operation.withdrawn) return;
    if (error === null) return channel.applied(operation, result);
    if (error.code === "lease_lost") return this.#lose(operation);
    this.#options.logger.warn(
      { leaseId: channel.leaseId, kind, sequence, code: error.code, reason: error.message },
      "an operation was refused",
    );
    const later = this.#withdraw(operation);
    if (operation.answer !== null) {
      this.#queue = [...channel.moveUp(later), ...this.#queue];
      operation.answer({ refusal: { code: error.code, message: error.message } });
      return;
    }
    channel.rewindTo(sequence);
    channel.listener.onRefused(kind, `${error.code}: ${error.message}`);
  }

  /** A command is refused like this also when its run has lost the workspace alone: the lease may be there, to be handed back. */
  #lose(operation: QueuedOperation): void {
    const { channel, kind } = operation;
    // Of several commands the first has had the lease handed back already.
    const isOver = channel.released && channel.outcome() !== "rejected";
    if (kind !== "execs" || isOver) {
      channel.drop();
      channel.listener.onLost();
      return;
    }
    this.#queue = [...channel.moveUp(this.#withdraw(operation)), ...this.#queue];
    channel.listener.onWorkspaceLost();
  }

  /** Takes back what a lease made after this operation: it was refused with it, or is not sent yet. */
  #withdraw({ channel, sequence }: QueuedOperation): QueuedOperation[] {
    const isLater = (other: QueuedOperation): boolean =>
      other.channel === channel && other.sequence > sequence && !other.withdrawn;
    const later = [...this.#batch.filter(isLater), ...this.#queue.filter(isLater)];
    this.#queue = this.#queue.filter((other) => !isLater(other));
    for (const other of later) other.withdrawn = true;
    return later;
  }
}

/** Code that made the call knows its fields, and of no report. */
const messageOf = ({ message }: Error): string => message.replaceAll(/(^|; )operations\.0\./g, "$1");

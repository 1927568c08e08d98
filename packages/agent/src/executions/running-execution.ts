import {
  BUNDLE_FORMAT_VERSION,
  LIMITS,
  parseDuration,
  type Execution,
  type OperationKind,
} from "@keelson/contract";
import type { BundleCache } from "../bundles/bundle-cache.ts";
import type { HostEvent } from "../host/frames.ts";
import type { Logger } from "../log.ts";
import { LogBuffer } from "../reporter/log-buffer.ts";
import type { LeaseChannel } from "../reporter/lease-channel.ts";
import type { Reporter } from "../reporter/reporter.ts";
import { describeDeath } from "../task-hosts/describe-death.ts";
import type { HostPool } from "../task-hosts/host-pool.ts";
import type { HostSpec } from "../task-hosts/host-process.ts";
import {
  HostBootError,
  type HostRun,
  type RunEnding,
  type RunSink,
  type TaskHost,
} from "../task-hosts/task-host.ts";
import { CANCELLED, decideRelease, failed, REJECTED, type Release, type Stop } from "./decide-release.ts";

/** Unsent output at which a run's pipes are left alone, and at which they are read again. */
const PAUSE_BYTES = 1024 * 1024;
const RESUME_BYTES = 512 * 1024;
/** How long code may go on after its deadline. */
const DEADLINE_GRACE_MS = 1_000;
const EVENT_MESSAGE_CHARACTERS = 4096;

export type ExecutionContext = {
  bundles: BundleCache;
  hosts: HostPool;
  reporter: Reporter;
  /** The present time as the wire writes it. */
  timestamp(): string;
  logger: Logger;
  stopGraceMs: number;
  maxLogBytes: number;
  /** The process is free for another run. */
  onEnded(execution: RunningExecution): void;
  /** The lease is over: nothing of it needs renewing. */
  onClosed(execution: RunningExecution): void;
};

/**
 * One leased attempt on this worker: its bundle is fetched, a host found, the code run, its effects reported, the
 * lease released. It ends once, by whichever comes first of its result, its process's death, its deadline, a
 * cancellation, a drain, or the loss of its lease; after a loss nothing more is reported.
 */
export class RunningExecution {
  readonly execution: Execution;
  readonly channel: LeaseChannel;
  /** Monotonic time until which the lease is known to be ours. */
  validUntil: number;
  readonly #context: ExecutionContext;
  readonly #logs: LogBuffer;
  readonly #maxDurationMs: number | null;
  readonly #halted = Promise.withResolvers<null>();
  #stop: Stop = null;
  #released = false;
  #started = false;
  #refusals = 0;
  #host: TaskHost | null = null;
  #run: HostRun | null = null;
  #deadline: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #paused = false;

  constructor(execution: Execution, validUntil: number, context: ExecutionContext) {
    this.execution = execution;
    this.validUntil = validUntil;
    this.#context = context;
    const { max_duration: maxDuration } = execution.entrypoint;
    this.#maxDurationMs = maxDuration === null ? null : parseDuration(maxDuration);
    this.channel = context.reporter.open(execution, {
      onLogsSent: () => this.#paceOutput(),
      onLost: () => this.lose(),
      onRefused: (kind, reason) => this.#refused(kind, reason),
      onClosed: () => context.onClosed(this),
    });
    this.#logs = new LogBuffer({
      maxBytes: context.maxLogBytes,
      timestamp: () => context.timestamp(),
      send: (chunks) => this.channel.logs(chunks),
    });
  }

  /** The code has begun; before that the lease can go back without a trace. */
  get started(): boolean {
    return this.#started;
  }

  async start(): Promise<void> {
    try {
      await this.#execute();
    } catch (err) {
      // Nothing in there is expected to throw: what does is ours, and another worker may do better.
      this.#context.logger.error({ err, runId: this.execution.run.id }, "an execution broke in the agent");
      this.#host?.kill("stopped");
      this.#release(REJECTED);
    } finally {
      this.#context.onEnded(this);
    }
  }

  /** The run's caller asked for its end. */
  cancel(): void {
    this.#halt("cancelled", this.#context.stopGraceMs);
  }

  /** The agent is going away: what has not ended by itself is handed back. */
  drain(): void {
    this.#halt("drained", DEADLINE_GRACE_MS);
  }

  /** The lease is no longer ours: the code must stop and nothing more may be said for it. */
  lose(): void {
    this.channel.drop();
    this.#logs.discard();
    this.#halted.resolve(null);
    if (this.#run !== null && !this.#released) {
      this.#host?.stop(this.#run.n, "stopped");
      this.#host?.abandon(this.#run.n, "stopped");
    }
  }

  #halt(stop: Exclude<Stop, null>, graceMs: number): void {
    // A drain overrides nothing; a cancellation or deadline is not undone by what comes later.
    if (this.#released || this.#stop !== null) return;
    this.#stop = stop;
    this.#halted.resolve(null);
    const { n } = this.#run ?? {};
    if (n === undefined) return;
    this.#host?.stop(n, stop === "drained" ? "stopped" : stop);
    this.#grace = setTimeout(() => this.#host?.abandon(n, stop === "drained" ? "stopped" : stop), graceMs);
  }

  async #execute(): Promise<void> {
    const host = await this.#prepare();
    if (host === null) return;
    this.#host = host;
    this.#started = true;
    this.channel.start(this.#context.timestamp());
    const { entrypoint, run, secrets } = this.execution;
    const sink: RunSink = {
      output: (stream, bytes) => {
        this.#logs.write(stream, bytes);
        this.#paceOutput();
      },
      event: (event) => this.#event(event),
      metadata: (changes) => {
        this.#logs.flush();
        for (let at = 0; at < changes.length; at += 100)
          this.channel.metadata(changes.slice(at, at + 100), this.#context.timestamp());
      },
    };
    this.#run = host.run(
      { entrypoint: { kind: entrypoint.kind, declaredId: entrypoint.declared_id }, run, secrets },
      sink,
    );
    this.#armDeadline();
    const ending = await this.#run.ended;
    clearTimeout(this.#deadline);
    clearTimeout(this.#grace);
    // A process that was told to stop may still carry work of that run; the next run gets a fresh one.
    if (host.spec.mode === "exclusive" && (this.#stop !== null || this.channel.dropped)) host.retire();
    this.#context.hosts.release(host);
    this.#release(this.#decide(ending));
  }

  /** Fetches the bundle and boots a host; ends the execution and gives null when that fails or a stop comes first. */
  async #prepare(): Promise<TaskHost | null> {
    const { bundle_format_version: format, bundle_digest: digest, entrypoint } = this.execution;
    if (format !== BUNDLE_FORMAT_VERSION) {
      this.#release(
        failed(
          "bundle_error",
          `The bundle has format version ${format}; this worker runs version ${BUNDLE_FORMAT_VERSION}.`,
          null,
          false,
        ),
      );
      return null;
    }
    const spec = { digest, mode: entrypoint.execution, memoryMb: entrypoint.memory_mb };
    const acquiring = this.#acquire(spec);
    const host = await Promise.race([acquiring, this.#halted.promise]);
    if (host !== null && this.#stop === null && !this.channel.dropped) return host;
    // Whatever still comes of it is for the next run.
    void acquiring.then((late) => late !== null && this.#context.hosts.release(late));
    if (this.#stop !== null) this.#release(this.#stop === "cancelled" ? CANCELLED : REJECTED);
    return null;
  }

  async #acquire(spec: Omit<HostSpec, "bundlePath">): Promise<TaskHost | null> {
    let bundlePath: string;
    try {
      bundlePath = await this.#context.bundles.ensure(spec.digest);
    } catch (err) {
      this.#context.logger.warn(
        { err, runId: this.execution.run.id },
        "a run is handed back: its bundle is not available",
      );
      this.#release(REJECTED);
      return null;
    }
    try {
      return await this.#context.hosts.acquire({ ...spec, bundlePath });
    } catch (error) {
      this.#release(bootFailure(error, spec.memoryMb));
      return null;
    }
  }

  #armDeadline(): void {
    if (this.#maxDurationMs === null) return;
    // setTimeout takes 31 bits; a deadline past 24 days is checked again then.
    const arm = (restMs: number) => {
      const stepMs = Math.min(restMs, 2_000_000_000);
      this.#deadline = setTimeout(
        () => (restMs > stepMs ? arm(restMs - stepMs) : this.#halt("timed_out", DEADLINE_GRACE_MS)),
        stepMs,
      );
    };
    arm(this.#maxDurationMs);
  }

  #decide(ending: RunEnding): Release {
    return decideRelease(ending, this.#stop, {
      maxDurationMs: this.#maxDurationMs,
      memoryMb: this.execution.entrypoint.memory_mb,
    });
  }

  #release(release: Release): void {
    if (this.#released) return;
    this.#released = true;
    this.#logs.flush();
    this.channel.release(release, this.#context.timestamp());
  }

  #event(event: HostEvent): void {
    this.#logs.flush();
    const { kind, severity, attributes } = event;
    const message = event.message.slice(0, EVENT_MESSAGE_CHARACTERS);
    this.channel.events([
      {
        kind,
        message,
        at: this.#context.timestamp(),
        ...(severity && { severity }),
        ...(attributes && { attributes }),
      },
    ]);
  }

  /** The server would not take an operation: a run whose record cannot be kept fails, saying why. */
  #refused(kind: OperationKind, reason: string): void {
    if (this.#refusals > 0) return this.channel.drop();
    this.#refusals += 1;
    this.#logs.discard();
    this.#released = true;
    this.channel.release(
      failed(
        "application_error",
        `The server refused the run's ${kind} (limit ${LIMITS.outputBytes} bytes for an output): ${reason}`,
        null,
        false,
      ),
      this.#context.timestamp(),
    );
    if (this.#run !== null) this.#host?.abandon(this.#run.n, "stopped");
  }

  #paceOutput(): void {
    const unsent = this.channel.dropped ? 0 : this.channel.unsentLogBytes + this.#logs.pendingBytes;
    const paused = this.#paused ? unsent > RESUME_BYTES : unsent > PAUSE_BYTES;
    if (paused === this.#paused || this.#run === null) return;
    this.#paused = paused;
    this.#host?.setPaused(this.#run.n, paused);
  }
}

function bootFailure(error: unknown, memoryMb: number | null): Release {
  if (!(error instanceof HostBootError)) return REJECTED;
  if (error.thrown !== null)
    return failed(
      "bundle_error",
      `The bundle could not be imported: ${error.thrown.message}`,
      error.thrown.stack,
      false,
    );
  if (error.death === null || error.death.killCause === "stopped") return REJECTED;
  if (error.death.killCause === "boot_timeout")
    return failed(
      "bundle_error",
      "The bundle was not imported within 30 s; something at its top level does not end.",
      null,
      false,
    );
  const death = describeDeath(error.death, memoryMb);
  if (death.kind === "out_of_memory" || error.death.spawnError !== null)
    return failed(death.kind, death.message, death.stack, true);
  return failed(
    "bundle_error",
    `The process ended while it imported the bundle. ${death.message}`,
    death.stack,
    false,
  );
}

import type { Execution, LogStream } from "@keelson/contract";
import type { LeaseChannel } from "../reporter/lease-channel.ts";
import { LogBuffer } from "../reporter/log-buffer.ts";
import type { ExecutionContext } from "./execution-context.ts";
import { createRedactor, type Redactor } from "./redactor.ts";

/** Unsent output at which a run's pipes are left alone, and at which they are read again. */
const PAUSE_BYTES = 1024 * 1024;
const RESUME_BYTES = 512 * 1024;

export type RunOutputOptions = {
  execution: Execution;
  channel: LeaseChannel;
  context: Pick<ExecutionContext, "maxLogBytes" | "timestamp">;
  /** Leaves the pipes of its process alone, or reads them again. */
  setPaused(paused: boolean): void;
};

/** What a run writes, on its way to the server: without the values of secrets, and held up at its source while it is not taken. */
export class RunOutput {
  readonly redactor: Redactor;
  readonly #options: RunOutputOptions;
  readonly #logs: LogBuffer;
  #isPaused = false;

  constructor(options: RunOutputOptions) {
    this.#options = options;
    const { execution, channel, context } = options;
    this.#logs = new LogBuffer({
      maxBytes: context.maxLogBytes,
      timestamp: () => context.timestamp(),
      send: (chunks) => channel.logs(chunks),
    });
    this.redactor = createRedactor(
      { ...execution.secrets, run_token: execution.run_token },
      (stream, bytes) => this.#logs.write(stream, bytes),
    );
  }

  write(stream: LogStream, bytes: Buffer): void {
    this.redactor.write(stream, bytes);
    this.pace();
  }

  /** What was written until now comes before what is told next. */
  flush(): void {
    this.#logs.flush();
  }

  discard(): void {
    this.#logs.discard();
  }

  /** Nothing is written any more. */
  end(): void {
    this.redactor.end();
    this.#logs.flush();
  }

  /** Some of it was written, or sent. */
  pace(): void {
    const { channel, setPaused } = this.#options;
    const unsent = channel.dropped ? 0 : channel.unsentLogBytes + this.#logs.pendingBytes;
    const paused = this.#isPaused ? unsent > RESUME_BYTES : unsent > PAUSE_BYTES;
    if (paused === this.#isPaused) return;
    this.#isPaused = paused;
    setPaused(paused);
  }
}

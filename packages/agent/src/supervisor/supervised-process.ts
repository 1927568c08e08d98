import { constants } from "node:os";
import { setImmediate as turn } from "node:timers/promises";
import type { ProcessStream } from "@keelson/contract";
import type { Clock } from "../clock.ts";
import type {
  OutputOffsets,
  OutputRead,
  ProcessExit,
  ProcessSpec,
  ProcessState,
  SupervisorControl,
} from "./calls.ts";
import type { Containment } from "./containment.ts";
import { InputQueue } from "./input-queue.ts";
import type { Launched } from "./launch.ts";
import { OutputBuffer } from "./output-buffer.ts";

const READ_BYTES = 1024 * 1024;
const READ_PIECES = 500;
/** From asking a process to end until it is killed. */
const END_GRACE_MS = 2_000;
/** How long the output of a process that is gone is read; only what escaped its group keeps it open. */
const LAST_OUTPUT_MS = 2_000;

/** A signal that ends a program is seen as 128 and its number where a wrapper stands between. */
const FATAL = ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGXFSZ", "SIGXCPU"];

/** `explainFailure`: what limit of the workspace a program that failed met, when there is one. */
export type Launch = () => Promise<{
  launched: Launched;
  containment: Containment;
  explainFailure(): string | null;
}>;

/** One exec or PTY: starts once, ends once, and holds its output until it is known to be stored. */
export class SupervisedProcess {
  readonly spec: ProcessSpec;
  /** It has ended, and nothing of it is left. */
  readonly ended: Promise<void>;
  readonly #clock: Clock;
  readonly #isWrapped: boolean;
  readonly #buffers: OutputBuffer[];
  readonly #finished = Promise.withResolvers<void>();
  readonly #sent = new Set<string>();
  #running: { launched: Launched; containment: Containment; input: InputQueue } | null = null;
  #changed = Promise.withResolvers<void>();
  #controlSequence = 0;
  #exit: ProcessExit | null = null;
  #endedByUs = false;
  #timedOut = false;
  /** What limit of the workspace it was ended for. */
  #exceeded: string | null = null;
  #explainFailure: () => string | null = () => null;
  #isDraining = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param isWrapped bubblewrap reports the end of the program, in its own way. */
  constructor(spec: ProcessSpec, isWrapped: boolean, clock: Clock) {
    this.spec = spec;
    this.#clock = clock;
    this.#isWrapped = isWrapped;
    this.ended = this.#finished.promise;
    const streams: ProcessStream[] = spec.kind === "pty" ? ["output"] : ["stdout", "stderr"];
    this.#buffers = streams.map((stream) => new OutputBuffer(stream));
  }

  state(): ProcessState {
    const { id, kind } = this.spec;
    const input = this.#running?.input;
    return {
      ...{ id, kind, inputOffset: input?.taken ?? 0, inputClosed: input?.closed ?? false },
      ...{ controlSequence: this.#controlSequence, exit: this.#exit },
    };
  }

  /** Resolves when it runs, or has failed to; that is its exit then. */
  async start(launch: Launch): Promise<void> {
    try {
      const { launched, containment, explainFailure } = await launch();
      this.#explainFailure = explainFailure;
      launched.gate?.open();
      const input = new InputQueue(launched.input, this.spec.kind === "exec");
      this.#running = { launched, containment, input };
      this.#listen(launched, containment);
      if (this.spec.timeoutMs !== null) this.#timer = setTimeout(() => this.#timeOut(), this.spec.timeoutMs);
    } catch (error) {
      this.#finish({ ...NO_EXIT, outcome: "failed", error: (error as Error).message });
    }
  }

  /** The output after these offsets, as soon as there is some, and the exit with the last of it. */
  async read(after: OutputOffsets, signal: AbortSignal): Promise<OutputRead> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    for (;;) {
      for (const buffer of this.#buffers) buffer.dropBefore(after[buffer.stream]);
      this.#pace();
      const chunks = this.#buffers.flatMap((buffer) => buffer.take(READ_BYTES, READ_PIECES));
      const isAll = this.#buffers.every(({ stream, end }) => {
        const last = chunks.findLast((chunk) => chunk.stream === stream);
        // Nothing is held: all of it was read before, if perhaps not by who reads now.
        return last === undefined || last.offset + last.data.length >= end;
      });
      if (chunks.length > 0 || this.#exit !== null) return { chunks, exit: isAll ? this.#exit : null };
      if (signal.aborted) return { chunks: [], exit: null };
      await Promise.race([this.#changed.promise, aborted]);
    }
  }

  /** Takes what it can of the input; gives the bytes taken in all. */
  write(offset: number, bytes: Buffer, closed: boolean): number {
    if (this.#running === null) return this.#exit === null ? 0 : offset + bytes.length;
    this.#running.input.write(offset, bytes, closed);
    return this.#running.input.taken;
  }

  control({ sequence, kind, signal, cols, rows }: SupervisorControl): void {
    if (sequence <= this.#controlSequence) return;
    this.#controlSequence = sequence;
    if (this.#running === null || this.#exit !== null) return;
    const { launched, containment } = this.#running;
    if (kind === "close") this.end();
    if (kind === "resize" && cols !== null && rows !== null && !this.#isDraining)
      launched.resize?.(cols, rows);
    if (kind === "signal" && signal !== null && !this.#isDraining) {
      this.#sent.add(signal);
      containment.signal(signal);
    }
  }

  /** Asks it to end, and kills it when it does not. */
  end(): void {
    if (this.#exit !== null || this.#endedByUs || this.#running === null) return;
    this.#endedByUs = true;
    if (this.#isDraining) return;
    const { containment } = this.#running;
    if (this.spec.kind === "pty") containment.hangUp();
    else containment.signal("SIGTERM");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void containment.killAll(), END_GRACE_MS);
  }

  /** The pid of what runs; null before its start and when the program is gone. */
  runningPid(): number | null {
    return this.#isDraining ? null : (this.#running?.launched.pid ?? null);
  }

  /** Ends it because the workspace is over a limit. */
  async exceed(reason: string): Promise<void> {
    if (this.#running === null || this.#isDraining) return;
    this.#exceeded ??= reason;
    await this.#running.containment.killAll();
    await this.ended;
  }

  #timeOut(): void {
    this.#timedOut = true;
    void this.#running?.containment.killAll();
  }

  #listen(launched: Launched, containment: Containment): void {
    const closed = launched.outputs.map(({ stream, readable }) => {
      const buffer = this.#buffers.find((candidate) => candidate.stream === stream) as OutputBuffer;
      readable.on("data", (data: Buffer) => {
        buffer.push(data, this.#clock.now());
        if (buffer.isFull && !this.#isDraining) readable.pause();
        this.#notify();
      });
      readable.on("error", () => undefined);
      // A launcher that was parked may have been killed at the moment that it was taken.
      if (readable.closed) return Promise.resolve();
      return new Promise<void>((resolve) => readable.once("close", () => resolve()));
    });
    void launched.exited.then((status) => this.#drain(status, closed, launched, containment));
  }

  /** The program is gone: ends what it left behind, and reads what is still in its pipes. */
  async #drain(
    status: { exitCode: number | null; signal: string | null },
    closed: Promise<void>[],
    { outputs }: Launched,
    containment: Containment,
  ): Promise<void> {
    clearTimeout(this.#timer);
    this.#isDraining = true;
    // What it wrote last may be there to be read, and the search for what it left behind stops this process for a while.
    await turn();
    await containment.killAll();
    // No more than the pipes hold: nobody is left to write, or is cut off after a while.
    for (const { readable } of outputs) readable.resume();
    const giveUp = setTimeout(() => {
      // In the next turn: what came while this process itself stood still is read before.
      setImmediate(() => outputs.forEach(({ readable }) => readable.destroy()));
    }, LAST_OUTPUT_MS);
    await Promise.all(closed);
    clearTimeout(giveUp);
    this.#finish(this.#describeExit(status));
  }

  #describeExit(status: { exitCode: number | null; signal: string | null }): ProcessExit {
    if (this.#exceeded !== null && !this.#endedByUs)
      return { ...NO_EXIT, outcome: "exited", signal: "SIGKILL", error: this.#exceeded };
    const timedOut = this.#timedOut && (status.signal === "SIGKILL" || status.exitCode === 128 + 9);
    if (timedOut) return { ...NO_EXIT, outcome: "exited", signal: "SIGKILL", timedOut };
    const byUs = this.spec.kind === "pty" ? "closed" : "cancelled";
    const { exitCode, signal } = this.#isWrapped ? this.#unwrap(status) : status;
    if (this.#endedByUs) return { ...NO_EXIT, outcome: byUs, exitCode, signal };
    const hasFailed = signal !== null || exitCode !== 0;
    return {
      ...{ ...NO_EXIT, outcome: "exited", exitCode, signal },
      error: hasFailed ? this.#explainFailure() : null,
    };
  }

  #unwrap(status: { exitCode: number | null; signal: string | null }): typeof status {
    const number = (status.exitCode ?? 0) - 128;
    const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
    if (name === undefined || !(FATAL.includes(name) || this.#sent.has(name))) return status;
    return { exitCode: null, signal: name };
  }

  #finish(exit: ProcessExit): void {
    clearTimeout(this.#timer);
    this.#exit = exit;
    this.#notify();
    this.#finished.resolve();
  }

  #pace(): void {
    if (this.#running === null) return;
    for (const { stream, readable } of this.#running.launched.outputs) {
      const buffer = this.#buffers.find((candidate) => candidate.stream === stream);
      if (buffer?.isLow === true && readable.isPaused()) readable.resume();
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

const NO_EXIT = { exitCode: null, signal: null, timedOut: false, error: null } as const;

import { randomBytes } from "node:crypto";
import type { ExecuteResult, LogStream, WaitState } from "@keelson/contract";
import {
  createFrameReader,
  encodeFrame,
  type CallAnswer,
  type FromHost,
  type HostEntrypoint,
  type RunInput,
  type StopCause,
  type Thrown,
  type ToHost,
} from "../host/frames.ts";
import { createGivenSecrets } from "../executions/redactor.ts";
import type { Logger } from "../log.ts";
import type { HostDeath, KillCause } from "./describe-death.ts";
import type { GroupReaper } from "./group-reaper.ts";
import { hostKey, killGroup, spawnHost, type HostProcess, type HostSpec } from "./host-process.ts";
import { HostBootError, type HostRun, type RunEnding, type RunSink } from "./host-run.ts";
import { formatMarker, MarkedReader } from "./marked-reader.ts";
import { RUNTIME_OVERHEAD_MB, watchMemory } from "./watch-memory.ts";

type ActiveRun = {
  n: number;
  sink: RunSink;
  end(ending: RunEnding): void;
  result: ExecuteResult | null;
  openStreams: Set<LogStream>;
};

export type TaskHostOptions = {
  spec: HostSpec;
  environment: Record<string, string>;
  reaper: GroupReaper;
  logger: Logger;
  onUnusable(): void;
};

const BOOT_TIMEOUT_MS = 30_000;
const STDERR_TAIL_BYTES = 8 * 1024;
/** How long a process may take to end by itself when it was asked to. */
const EXIT_GRACE_MS = 1_000;
/** How long pipes are read after the process ended; only a child that left the process group keeps them open. */
const LAST_OUTPUT_MS = 2_000;

/** One host process: boots a bundle, runs attempts, ends once. */
export class TaskHost {
  readonly spec: HostSpec;
  readonly key: string;
  readonly booted: Promise<HostEntrypoint[]>;
  readonly exited: Promise<HostDeath>;
  readonly #options: TaskHostOptions;
  readonly #process: HostProcess;
  readonly #runs = new Map<number, ActiveRun>();
  readonly #readers: Record<LogStream, MarkedReader>;
  readonly #paused = new Set<number>();
  readonly #given = createGivenSecrets();
  readonly #boot = Promise.withResolvers<HostEntrypoint[]>();
  readonly #exit = Promise.withResolvers<HostDeath>();
  #lastRun = 0;
  #outbox: string[] = [];
  #state: "booting" | "ready" | "retired" | "ended" = "booting";
  #killCause: KillCause | null = null;
  #uncaught: Thrown | null = null;
  #stderrTail: Buffer[] = [];
  #stopWatch: () => void = () => undefined;
  #onPong: (() => void) | null = null;
  #gone = false;
  #exitStatus: Pick<HostDeath, "exitCode" | "signal" | "spawnError"> = {
    exitCode: null,
    signal: null,
    spawnError: null,
  };

  constructor(options: TaskHostOptions) {
    this.#options = options;
    this.spec = options.spec;
    this.key = hostKey(options.spec);
    this.booted = this.#boot.promise;
    this.exited = this.#exit.promise;
    this.#boot.promise.catch(() => undefined); // Whoever boots a host looks at it; a retired one is nobody's.
    this.#process = spawnHost(options.spec, options.environment);
    this.#readers = { stdout: this.#readStream("stdout"), stderr: this.#readStream("stderr") };
    this.#listen();
    this.#post(["boot", { path: options.spec.bundlePath, mode: options.spec.mode }]);
    const timer = setTimeout(() => this.kill("boot_timeout"), BOOT_TIMEOUT_MS);
    const booted = () => clearTimeout(timer);
    this.booted.then(booted, booted);
  }

  get pid(): number | undefined {
    return this.#process.child.pid;
  }

  get activeRuns(): number {
    return this.#runs.size;
  }

  /** It may be given another run. */
  get usable(): boolean {
    return this.#state === "ready" || this.#state === "booting";
  }

  run(input: RunInput, sink: RunSink): HostRun {
    const { promise, resolve } = Promise.withResolvers<RunEnding>();
    if (this.#state === "ended") {
      void this.exited.then((death) => resolve({ kind: "died", death }));
      return { n: 0, ended: promise };
    }
    this.#lastRun += 1;
    const n = this.#lastRun;
    this.#given.add(input.secrets);
    const exclusive = this.spec.mode === "exclusive";
    this.#runs.set(n, {
      n,
      sink,
      end: resolve,
      result: null,
      openStreams: new Set(exclusive ? ["stdout", "stderr"] : []),
    });
    let marker = "";
    if (exclusive) {
      this.#stderrTail = [];
      marker = formatMarker(randomBytes(16).toString("hex"));
      this.#readers.stdout.expect(marker);
      this.#readers.stderr.expect(marker);
    }
    this.#post(["run", n, input, marker]);
    return { n, ended: promise };
  }

  /** Aborts the run's signal. */
  stop(n: number, cause: StopCause): void {
    this.#post(["stop", n, cause]);
  }

  answer(n: number, id: number, answer: CallAnswer): void {
    this.#post(["answer", n, id, answer]);
  }

  /** Tells a run of waits that have settled. */
  settled(n: number, waits: WaitState[]): void {
    this.#post(["settled", n, waits]);
  }

  /** Asks a run that waits to end as suspended; it does, or its sink hears that it is awake. */
  suspend(n: number): void {
    this.#post(["suspend", n]);
  }

  /**
   * Ends a run that does not stop. Its process goes with it when it is exclusive; a shared one takes no new runs,
   * lets its other runs finish, and is killed when it does not even answer.
   */
  abandon(n: number, cause: KillCause): void {
    if (this.spec.mode === "exclusive") return this.kill(cause);
    this.#finish(n, { kind: "abandoned" });
    this.retire();
    // While the agent itself holds the pipe up, silence says nothing.
    if (this.#gone || this.#paused.size > 0 || this.#runs.size === 0) return;
    const timer = setTimeout(() => this.kill("unresponsive"), EXIT_GRACE_MS);
    this.#onPong = () => clearTimeout(timer);
    this.#post(["ping"]);
  }

  /** Stops or continues reading what a run writes; a process that nobody reads is held up when its pipe is full. */
  setPaused(n: number, paused: boolean): void {
    if (paused) this.#paused.add(n);
    else this.#paused.delete(n);
    const { stdout, stderr, fromHost } = this.#process;
    for (const stream of this.spec.mode === "exclusive" ? [stdout, stderr] : [fromHost]) {
      if (this.#paused.size > 0) stream.pause();
      else stream.resume();
    }
  }

  /** Takes no more runs, and ends when the last has. */
  retire(): void {
    if (this.#state === "ended" || this.#state === "retired") return;
    this.#state = "retired";
    this.#options.onUnusable();
    if (this.#runs.size === 0) this.#askToExit();
  }

  kill(cause: KillCause): void {
    if (this.#state === "ended") return;
    this.#killCause ??= cause;
    if (this.#state !== "retired") {
      this.#state = "retired";
      this.#options.onUnusable();
    }
    if (this.pid !== undefined && !this.#gone) killGroup(this.pid);
  }

  #askToExit(): void {
    this.#killCause ??= "idle";
    this.#post(["exit"]);
    const timer = setTimeout(() => this.kill("idle"), EXIT_GRACE_MS);
    void this.exited.then(() => clearTimeout(timer));
  }

  #listen(): void {
    const { child, fromHost, toHost } = this.#process;
    const read = createFrameReader<FromHost>((messages) => {
      for (const message of messages) this.#receive(message);
    });
    fromHost.on("data", (bytes: Buffer) => {
      try {
        read(bytes);
      } catch (err) {
        this.#options.logger.error({ err, pid: this.pid }, "a task host wrote what is no frame; ending it");
        this.kill("unresponsive");
      }
    });
    // A broken pipe is seen as the process's exit, with a better reason.
    fromHost.on("error", () => undefined);
    toHost.on("error", () => undefined);
    child.on("error", (spawnError) => {
      // Also emitted when a signal could not be sent; only a process that never was has no other end.
      if (child.pid !== undefined) return;
      this.#exitStatus = { exitCode: null, signal: null, spawnError };
      this.#ended();
    });
    child.on("exit", (exitCode, signal) => this.#exited(exitCode, signal));
    child.on("close", () => this.#ended());
    if (child.pid === undefined) return;
    this.#options.reaper.add(child.pid);
    if (this.spec.memoryMb !== null) {
      this.#stopWatch = watchMemory(child.pid, this.spec.memoryMb + RUNTIME_OVERHEAD_MB, () =>
        this.kill("out_of_memory"),
      );
    }
  }

  #readStream(name: LogStream): MarkedReader {
    const reader = new MarkedReader(
      (bytes) => this.#output(name, bytes),
      () => this.#streamDone(name),
    );
    const stream = this.#process[name];
    stream.on("data", (bytes: Buffer) => {
      if (name === "stderr") this.#keepTail(bytes);
      reader.push(bytes);
    });
    stream.on("end", () => {
      reader.end();
      this.#streamDone(name);
      this.retire();
    });
    stream.on("error", () => undefined);
    return reader;
  }

  #output(stream: LogStream, bytes: Buffer): void {
    const run = this.spec.mode === "exclusive" ? this.#runs.get(this.#lastRun) : undefined;
    if (run?.openStreams.has(stream)) return run.sink.output(stream, bytes);
    this.#options.logger.info(
      {
        ...{ pid: this.pid, digest: this.spec.digest, stream },
        text: this.#given.redact(bytes.toString()).slice(0, 4096),
      },
      "output of a task host that belongs to no run",
    );
  }

  #keepTail(bytes: Buffer): void {
    this.#stderrTail.push(bytes);
    if (this.#stderrTail.length < 32 && bytes.length < STDERR_TAIL_BYTES) return;
    this.#stderrTail = [Buffer.concat(this.#stderrTail).subarray(-STDERR_TAIL_BYTES)];
  }

  #receive(message: FromHost): void {
    switch (message[0]) {
      case "ready":
        if (this.#state === "booting") this.#state = "ready";
        return this.#boot.resolve(message[1]);
      case "boot_failed":
        this.#boot.reject(new HostBootError(message[1], null));
        return this.retire();
      case "text":
        return this.#runs.get(message[1])?.sink.output(message[2], Buffer.from(message[3]));
      case "bytes":
        return this.#runs.get(message[1])?.sink.output(message[2], Buffer.from(message[3], "base64"));
      case "event":
        return this.#runs.get(message[1])?.sink.event(message[2]);
      case "metadata":
        return this.#runs.get(message[1])?.sink.metadata(message[2]);
      case "call":
        return this.#runs.get(message[1])?.sink.call(message[2], message[3]);
      case "exec_result":
        return this.#runs.get(message[1])?.sink.execResult(message[2], message[3]);
      case "awake":
        return this.#runs.get(message[1])?.sink.awake();
      case "end":
        return this.#receiveEnd(message[1], message[2]);
      case "uncaught":
        this.#uncaught = message[2];
        setTimeout(() => this.kill("stopped"), EXIT_GRACE_MS).unref();
        return this.retire();
      case "pong":
        return this.#onPong?.();
    }
  }

  #receiveEnd(n: number, result: ExecuteResult): void {
    const run = this.#runs.get(n);
    if (run === undefined) return;
    run.result = result;
    if (run.openStreams.size === 0) this.#finish(n, { kind: "result", result });
    // Code that replaced its own output descriptors swallows the marker: the result stands, the process does not.
    else setTimeout(() => this.#giveUpOutput(n), LAST_OUTPUT_MS).unref();
  }

  #giveUpOutput(n: number): void {
    const run = this.#runs.get(n);
    if (!run?.result) return;
    if (this.#paused.size > 0) return void setTimeout(() => this.#giveUpOutput(n), LAST_OUTPUT_MS).unref();
    this.retire();
    this.#finish(n, { kind: "result", result: run.result });
  }

  #streamDone(stream: LogStream): void {
    const run = this.#runs.get(this.#lastRun);
    if (run === undefined) return;
    run.openStreams.delete(stream);
    if (run.openStreams.size === 0 && run.result !== null)
      this.#finish(run.n, { kind: "result", result: run.result });
  }

  #finish(n: number, ending: RunEnding): void {
    const run = this.#runs.get(n);
    if (run === undefined) return;
    this.#runs.delete(n);
    if (this.#paused.has(n)) this.setPaused(n, false);
    run.end(ending);
    if (this.#state === "retired" && this.#runs.size === 0) this.#askToExit();
  }

  /** The process is gone; its pipes may still hold its last words. */
  #exited(exitCode: number | null, signal: NodeJS.Signals | null): void {
    this.#exitStatus = { exitCode, signal, spawnError: null };
    this.#gone = true;
    this.#stopWatch();
    const pid = this.pid as number;
    killGroup(pid);
    this.#options.reaper.remove(pid);
    const giveUp = () => {
      if (this.#state === "ended") return;
      if (this.#paused.size > 0) return void setTimeout(giveUp, LAST_OUTPUT_MS).unref();
      this.#ended();
    };
    setTimeout(giveUp, LAST_OUTPUT_MS).unref();
  }

  #ended(): void {
    if (this.#state === "ended") return;
    const wasRetired = this.#state === "retired";
    const { stdout, stderr, fromHost, toHost } = this.#process;
    this.#readers.stdout.end();
    this.#readers.stderr.end();
    for (const stream of [stdout, stderr, fromHost, toHost]) stream.destroy();
    this.#state = "ended";
    const stderrTail = Buffer.concat(this.#stderrTail).subarray(-STDERR_TAIL_BYTES).toString();
    const death: HostDeath = {
      ...this.#exitStatus,
      killCause: this.#killCause,
      uncaught: this.#uncaught,
      stderrTail,
    };
    if (!wasRetired) this.#options.onUnusable();
    this.#boot.reject(new HostBootError(null, death));
    for (const run of [...this.#runs.values()]) {
      this.#finish(
        run.n,
        run.result === null ? { kind: "died", death } : { kind: "result", result: run.result },
      );
    }
    this.#exit.resolve(death);
  }

  /** Everything posted in one turn is one frame. */
  #post(message: ToHost): void {
    if (this.#outbox.length === 0) queueMicrotask(() => this.#sendOutbox());
    this.#outbox.push(JSON.stringify(message));
  }

  #sendOutbox(): void {
    const frame = encodeFrame(this.#outbox);
    this.#outbox = [];
    if (this.#state !== "ended" && this.#process.toHost.writable) this.#process.toHost.write(frame);
  }
}

import type { ExecuteResult, LogStream } from "@keelson/contract";
import {
  createFrameReader,
  type ToRun,
  type FromHost,
  type HostEntrypoint,
  type RunInput,
  type StopCause,
  type Thrown,
} from "../host/frames.ts";
import { createGivenSecrets } from "../executions/redactor.ts";
import type { Logger } from "../log.ts";
import { InfrastructureError, type HostDeath, type KillCause } from "../deaths/death.ts";
import { limitServedTime } from "../deaths/served-time.ts";
import type { GroupReaper } from "./group-reaper.ts";
import { HostOutbox } from "./host-outbox.ts";
import { hostKey, type HostSpec } from "./host-key.ts";
import { killGroup, type HostProcess } from "./host-process.ts";
import { HostProgram } from "./host-program.ts";
import { HostBootError, type HostRun, type RunEnding, type RunSink } from "./host-run.ts";
import { OutputTail } from "./output-tail.ts";
import { readAvailable } from "./read-available.ts";
import { startHost, type HostStart } from "./start-host.ts";

type ActiveRun = {
  n: number;
  sink: RunSink;
  end(ending: RunEnding): void;
  /** It has ended so, and its output is still to be read. */
  result: ExecuteResult | null;
};

export type TaskHostOptions = HostStart & {
  reaper: GroupReaper;
  logger: Logger;
  onUnusable(): void;
};

const OUTPUTS = ["stdout", "stderr"] as const;
/** Of time in which the process could run. */
const BOOT_MS = 30_000;
const PONG_MS = 5_000;
/** On the clock, however little the process could run. */
const LONGEST_BOOT_MS = 50_000;
const LONGEST_PONG_MS = 30_000;
/** How long a process may take to end by itself when it was asked to. */
const EXIT_GRACE_MS = 1_000;
/** How long pipes are read after the process ended; only a child that left the process group keeps them open. */
const LAST_OUTPUT_MS = 2_000;

/** One host process: boots a bundle, runs attempts, ends once. */
export class TaskHost {
  readonly spec: HostSpec;
  readonly key: string;
  readonly #options: TaskHostOptions;
  readonly #process: HostProcess;
  readonly #program: HostProgram;
  readonly #outbox: HostOutbox;
  readonly #runs = new Map<number, ActiveRun>();
  readonly #paused = new Set<number>();
  readonly #given = createGivenSecrets();
  readonly #boot = Promise.withResolvers<HostEntrypoint[]>();
  readonly booted = this.#boot.promise;
  readonly #going = Promise.withResolvers<void>();
  /** The process is gone; its pipes may still be read. */
  readonly gone = this.#going.promise;
  readonly #exit = Promise.withResolvers<HostDeath>();
  readonly exited = this.#exit.promise;
  readonly #frames = createFrameReader<FromHost>((messages) => {
    for (const message of messages) this.#receive(message);
  });
  #lastRun = 0;
  #borrowers = 0;
  #state: "booting" | "ready" | "retired" | "ended" = "booting";
  #killCause: KillCause | null = null;
  #uncaught: Thrown | null = null;
  readonly #stderrTail = new OutputTail();
  #starved = false;
  /** Ends the wait for an answer to a ping. */
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
    this.#boot.promise.catch(() => undefined); // Whoever boots a host looks at it; a retired one is nobody's.
    this.#process = startHost(options);
    this.#program = new HostProgram(options.spec, this.pid, () => this.kill("out_of_memory"));
    this.#outbox = new HostOutbox(this.#process.toHost);
    for (const name of OUTPUTS) this.#readStream(name);
    this.#listen();
    const { bundlePath: path, mode, isolation, folders } = options.spec;
    this.#outbox.post(["boot", { path, mode, folders: isolation === "namespace" ? folders : null }]);
    const booted = this.#limit(BOOT_MS, LONGEST_BOOT_MS, "boot_timeout");
    this.booted.then(booted, booted);
  }

  get pid(): number | undefined {
    return this.#process.child.pid;
  }

  /** Its bundle is not loaded yet. */
  get booting(): boolean {
    return this.#state === "booting";
  }

  /** Nobody has borrowed it. */
  get free(): boolean {
    return this.#borrowers === 0;
  }

  /** It may be given another run. */
  get usable(): boolean {
    return this.#state === "ready" || this.#state === "booting";
  }

  /** It is needed for a run: retired or not, it is not asked to end before it is given back. */
  borrow(): void {
    this.#borrowers += 1;
  }

  giveBack(): void {
    this.#borrowers -= 1;
    this.#exitWhenFree();
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
    this.#runs.set(n, { n, sink, end: resolve, result: null });
    if (this.spec.mode === "exclusive") this.#stderrTail.clear();
    this.#outbox.post(["run", n, input]);
    return { n, ended: promise };
  }

  /** Aborts the run's signal. */
  stop(n: number, cause: StopCause): void {
    this.#outbox.post(["stop", n, cause]);
  }

  /** Says something to a run that goes on. */
  tell(message: ToRun): void {
    this.#outbox.post(message);
  }

  /** True when the run or its process has ended by itself, as told until now: all of that is read, also what is held up. */
  hasTold(n: number): boolean {
    const isHeld = (): boolean => false;
    readAvailable(this.#process.fromHost, (bytes) => this.#readFrames(bytes), isHeld);
    return this.#gone || this.#runs.get(n)?.result !== null;
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
    // One answer is enough, however many runs were abandoned before it.
    if (this.#onPong !== null) return;
    this.#onPong = this.#limit(PONG_MS, LONGEST_PONG_MS, "unresponsive");
    this.#outbox.post(["ping"]);
  }

  /** Kills the process when it could run for so long. @returns ends that */
  #limit(boundMs: number, longestMs: number, cause: KillCause): () => void {
    const onOver = (isStarved: boolean): void => {
      this.#starved = isStarved;
      this.kill(cause);
    };
    return limitServedTime({ boundMs, longestMs, pid: () => this.#program.pid, onOver });
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
    this.#finishRead();
  }

  /** Takes no more runs, and ends when everybody who borrowed it has given it back. */
  retire(): void {
    if (this.#state === "ended" || this.#state === "retired") return;
    this.#state = "retired";
    this.#options.onUnusable();
    this.#exitWhenFree();
  }

  kill(cause: KillCause): void {
    if (this.#state === "ended") return;
    this.#killCause ??= cause;
    this.retire();
    if (this.pid !== undefined && !this.#gone) killGroup(this.pid);
  }

  #exitWhenFree(): void {
    if (this.#state !== "retired" || !this.free) return;
    this.#killCause ??= "idle";
    this.#outbox.post(["exit"]);
    const timer = setTimeout(() => this.kill("idle"), EXIT_GRACE_MS);
    void this.exited.then(() => clearTimeout(timer));
  }

  #listen(): void {
    const { child, fromHost, toHost } = this.#process;
    fromHost.on("data", (bytes: Buffer) => this.#readFrames(bytes));
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
  }

  #readFrames(bytes: Buffer): void {
    try {
      this.#frames(bytes);
    } catch (err) {
      this.#options.logger.error({ err, pid: this.pid }, "a task host wrote what is no frame; ending it");
      this.kill("unresponsive");
    }
  }

  #readStream(name: LogStream): void {
    const stream = this.#process[name];
    stream.on("data", (bytes: Buffer) => this.#output(name, bytes));
    stream.on("end", () => this.retire());
    stream.on("error", () => undefined);
  }

  #output(stream: LogStream, bytes: Buffer): void {
    if (stream === "stderr") this.#stderrTail.push(bytes);
    const run = this.#exclusiveRun();
    if (run !== undefined) return run.sink.output(stream, bytes);
    this.#options.logger.info(
      {
        ...{ pid: this.pid, digest: this.spec.digest, stream },
        text: this.#given.redact(bytes.toString()).slice(0, 4096),
      },
      "output of a task host that belongs to no run",
    );
  }

  #receive(message: FromHost): void {
    switch (message[0]) {
      case "ready":
        if (this.#state === "booting") this.#state = "ready";
        this.#readOutput();
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
      case "file":
        return this.#runs.get(message[1])?.sink.file(message[2], message[3]);
      case "awake":
        return this.#runs.get(message[1])?.sink.awake();
      case "end":
        return this.#receiveEnd(message[1], message[2]);
      case "uncaught":
        this.#uncaught = message[2];
        setTimeout(() => this.kill("stopped"), EXIT_GRACE_MS).unref();
        return this.retire();
      case "up":
        return this.#program.up();
      case "exiting":
        return this.#program.exiting(message[1]);
      case "unfit":
        this.#boot.reject(new InfrastructureError(message[1]));
        return this.retire();
      case "pong":
        this.#onPong?.();
        this.#onPong = null;
    }
  }

  #receiveEnd(n: number, result: ExecuteResult): void {
    const run = this.#runs.get(n);
    if (run === undefined) return;
    run.result = result;
    if (this.spec.mode === "exclusive") this.#finishRead();
    else this.#finish(n, { kind: "result", result });
  }

  /** Ends a run that has told its result, when all that it wrote before is read: it is in the pipes, and nothing else is. */
  #finishRead(): void {
    const run = this.#exclusiveRun();
    if (!run?.result || !this.#readOutput()) return;
    this.#finish(run.n, { kind: "result", result: run.result });
  }

  /** Reads what the process wrote until now; false when somebody holds that up. */
  #readOutput(): boolean {
    const isHeld = (): boolean => this.#paused.size > 0;
    return OUTPUTS.every((name) =>
      readAvailable(this.#process[name], (bytes) => this.#output(name, bytes), isHeld),
    );
  }

  #exclusiveRun(): ActiveRun | undefined {
    return this.spec.mode === "exclusive" ? this.#runs.get(this.#lastRun) : undefined;
  }

  #finish(n: number, ending: RunEnding): void {
    const run = this.#runs.get(n);
    if (run === undefined) return;
    this.#runs.delete(n);
    if (this.#paused.has(n)) this.setPaused(n, false);
    run.end(ending);
  }

  /** The process is gone; its pipes may still hold its last words. */
  #exited(exitCode: number | null, signal: NodeJS.Signals | null): void {
    this.#exitStatus = { ...this.#program.ended({ exitCode, signal }), spawnError: null };
    this.#gone = true;
    const pid = this.pid as number;
    killGroup(pid);
    this.#going.resolve();
    this.#options.reaper.remove(pid);
    // A turn after the time is over: what came while the agent itself stood still is read before.
    const wait = () => setTimeout(() => setImmediate(giveUp), LAST_OUTPUT_MS).unref();
    const giveUp = () => void (this.#paused.size > 0 && this.#state !== "ended" ? wait() : this.#ended());
    wait();
  }

  #ended(): void {
    if (this.#state === "ended") return;
    this.#onPong?.();
    const wasRetired = this.#state === "retired";
    const { stdout, stderr, fromHost, toHost } = this.#process;
    for (const stream of [stdout, stderr, fromHost, toHost]) stream.destroy();
    this.#state = "ended";
    const death: HostDeath = {
      ...this.#exitStatus,
      killCause: this.#killCause,
      uncaught: this.#uncaught,
      stderrTail: this.#stderrTail.toString(),
      starved: this.#starved,
    };
    if (!wasRetired) this.#options.onUnusable();
    this.#boot.reject(this.#program.setUpProblem(death) ?? new HostBootError(null, death));
    for (const run of [...this.#runs.values()]) {
      this.#finish(
        run.n,
        run.result === null ? { kind: "died", death } : { kind: "result", result: run.result },
      );
    }
    this.#going.resolve();
    this.#exit.resolve(death);
  }
}

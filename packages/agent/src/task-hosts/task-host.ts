import { randomBytes } from "node:crypto";
import type { ExecuteResult, LogStream } from "@keelson/contract";
import {
  createFrameReader,
  type ToRun,
  type FromHost,
  type HostEntrypoint,
  type Thrown,
} from "../host/frames.ts";
import { createGivenSecrets } from "../executions/redactor.ts";
import type { Logger } from "../log.ts";
import { InfrastructureError, type HostDeath, type KillCause } from "../deaths/death.ts";
import { limitServedTime } from "../deaths/served-time.ts";
import { GivenRuns, type GivenRunsOptions } from "./given-runs.ts";
import type { GroupReaper } from "./group-reaper.ts";
import { HostOutbox } from "./host-outbox.ts";
import { hostKey, type HostSpec } from "./host-key.ts";
import { killGroup, type HostProcess } from "./host-process.ts";
import { HostOutput } from "./host-output.ts";
import { HostProgram } from "./host-program.ts";
import { HostBootError, type RunEnding, type WaitingRun } from "./host-run.ts";
import { readAvailable } from "./read-available.ts";
import { startHost, type HostStart } from "./start-host.ts";

export type TaskHostOptions = Omit<HostStart, "ticketsFd"> &
  Pick<GivenRunsOptions, "onBegun" | "onReturned"> & {
    reaper: GroupReaper;
    logger: Logger;
    onUnusable(): void;
  };

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

const NOT_SEEN = { exitCode: null, signal: null, spawnError: null };

/** One host process: boots a bundle, runs attempts, ends once. */
export class TaskHost {
  readonly spec: HostSpec;
  readonly key: string;
  readonly #options: TaskHostOptions;
  readonly #process: HostProcess;
  readonly #program: HostProgram;
  readonly #outbox: HostOutbox;
  readonly #output: HostOutput;
  readonly #runs: GivenRuns;
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
  #isReading = false;
  #borrowers = 0;
  #state: "booting" | "ready" | "retired" | "ended" = "booting";
  #killCause: KillCause | null = null;
  #uncaught: Thrown | null = null;
  #starved = false;
  /** Ends the wait for an answer to a ping. */
  #onPong: (() => void) | null = null;
  #gone = false;
  #exitStatus: Pick<HostDeath, "exitCode" | "signal" | "spawnError"> = NOT_SEEN;

  constructor(options: TaskHostOptions) {
    this.#options = options;
    this.spec = options.spec;
    this.key = hostKey(options.spec);
    this.#boot.promise.catch(() => undefined); // Whoever boots a host looks at it; a retired one is nobody's.
    const { spec, home, onBegun, onReturned } = options;
    this.#runs = new GivenRuns({
      ...{ host: this, onBegun, onReturned },
      ticketsPath: spec.mode === "exclusive" ? `${home.path}.tickets` : null,
      readTold: () => void (this.#isReading || this.#readTold()),
      onOther: (stream, bytes) => this.#logOutput(stream, bytes),
    });
    try {
      this.#process = startHost({ ...options, ticketsFd: this.#runs.ticketsFd });
    } catch (error) {
      this.#runs.close();
      throw error;
    }
    this.#program = new HostProgram(spec, this.pid, () => this.kill("out_of_memory"));
    this.#outbox = new HostOutbox(this.#process.toHost);
    const marker = `\0${randomBytes(16).toString("hex")}`;
    this.#output = new HostOutput({
      ...{ stdout: this.#process.stdout, stderr: this.#process.stderr, marker: Buffer.from(marker) },
      onOutput: (n, stream, bytes) => this.#runs.write(n, stream, bytes),
      nextAfter: (n) => this.#runs.nextAfter(n),
      onClosed: () => this.retire(),
    });
    this.#listen();
    const folders = spec.isolation === "namespace" ? spec.folders : null;
    this.#outbox.post(["boot", { path: spec.bundlePath, mode: spec.mode, folders, marker }]);
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

  /** Runs that it was given, and that have not ended. */
  get load(): number {
    return this.#runs.size;
  }

  /** A run may be given to it behind another one. */
  get takesBehind(): boolean {
    return this.usable && this.#paused.size === 0 && this.#runs.takesBehind;
  }

  /**
   * Begins the run at once, or, in an exclusive host that has another one, behind that, unless it is taken back until then. False
   * when it cannot begin behind it.
   */
  give(run: WaitingRun): boolean {
    const isNext = this.spec.mode === "exclusive" && this.#runs.size > 0;
    const n = isNext ? this.#runs.addBehind(run) : this.#runs.add(run);
    if (n === null) return false;
    this.#given.add(run.input.secrets);
    this.#outbox.post([isNext ? "next" : "run", n, run.input]);
    if (isNext) return true;
    if (this.spec.mode === "exclusive") this.#output.begin(n);
    this.#runs.begin(n);
    return true;
  }

  /** Takes the runs back that it has not begun. */
  takeBack(): void {
    this.#runs.takeBack();
  }

  /** Says something to a run that goes on. */
  tell(message: ToRun): void {
    this.#outbox.post(message);
  }

  /** True when the run or its process has ended by itself, as told until now: all of that is read, also what is held up. */
  hasTold(n: number): boolean {
    this.#readTold();
    return this.#gone || this.#runs.hasTold(n);
  }

  /**
   * Ends a run that does not stop. Its process goes with it when it is exclusive; a shared one takes no new runs,
   * lets its other runs finish, and is killed when it does not even answer.
   */
  abandon(n: number, cause: KillCause): void {
    if (this.spec.mode === "exclusive") {
      // Nothing can begin behind it any more. What has begun until now shows that it has ended itself.
      this.takeBack();
      if (!this.hasTold(n)) return this.kill(cause);
      // Then nothing of it is held up any longer.
      return this.setPaused(n, false);
    }
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
    const isPaused = this.#paused.size > 0;
    if (this.spec.mode === "exclusive") this.#output.setPaused(isPaused);
    else this.#process.fromHost[isPaused ? "pause" : "resume"]();
    // Nothing waits for a run to be heard.
    if (paused) this.takeBack();
    this.#finishRead();
  }

  /** Takes no more runs, and ends when everybody who borrowed it has given it back. */
  retire(): void {
    if (this.#state === "ended" || this.#state === "retired") return;
    this.#state = "retired";
    this.takeBack();
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

  #readTold(): void {
    readAvailable(this.#process.fromHost, (bytes) => this.#readFrames(bytes));
  }

  #readFrames(bytes: Buffer): void {
    this.#isReading = true;
    try {
      this.#frames(bytes);
    } catch (err) {
      this.#options.logger.error({ err, pid: this.pid }, "a task host wrote what is no frame; ending it");
      this.kill("unresponsive");
    } finally {
      this.#isReading = false;
    }
  }

  #logOutput(stream: LogStream, bytes: Buffer): void {
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
        this.#output.readUntil(Number.POSITIVE_INFINITY);
        return this.#boot.resolve(message[1]);
      case "boot_failed":
        this.#boot.reject(new HostBootError(message[1], null));
        return this.retire();
      case "text":
        return this.#runs.begin(message[1])?.output(message[2], Buffer.from(message[3]));
      case "bytes":
        return this.#runs.begin(message[1])?.output(message[2], Buffer.from(message[3], "base64"));
      case "event":
        return this.#runs.begin(message[1])?.event(message[2]);
      case "metadata":
        return this.#runs.begin(message[1])?.metadata(message[2]);
      case "call":
        return this.#runs.begin(message[1])?.call(message[2], message[3]);
      case "exec_result":
        return this.#runs.begin(message[1])?.execResult(message[2], message[3]);
      case "file":
        return this.#runs.begin(message[1])?.file(message[2], message[3]);
      case "awake":
        return this.#runs.begin(message[1])?.awake();
      case "end":
        return this.#receiveEnd(message[1], message[2], message[3]);
      case "dropped":
        return void (message[1].some((n) => this.#runs.has(n)) && this.kill("ticket_taken"));
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

  #receiveEnd(n: number, result: ExecuteResult, goesOn: boolean): void {
    if (!this.#runs.tell(n, result)) return;
    if (this.spec.mode === "shared") return this.#finish(n, { kind: "result", result });
    this.#finishRead();
    if (!goesOn) this.retire();
  }

  /** Ends the runs that have told their results, when all that they wrote before is read: it is in the pipes, and nothing else is. */
  #finishRead(): void {
    const told = this.spec.mode === "exclusive" ? this.#runs.told() : [];
    if (!told.every(({ n }) => this.#output.readUntil(n))) return;
    for (const { n, result } of told) this.#finish(n, { kind: "result", result });
  }

  #finish(n: number, ending: RunEnding): void {
    this.#output.end(n);
    this.#runs.finish(n, ending);
    if (this.#runs.isUsedUp) this.retire();
    if (this.#paused.has(n)) this.setPaused(n, false);
  }

  /** The process is gone; its pipes may still hold its last words. */
  #exited(exitCode: number | null, signal: NodeJS.Signals | null): void {
    this.#exitStatus = { ...this.#program.ended({ exitCode, signal }), spawnError: null };
    this.#gone = true;
    const pid = this.pid as number;
    killGroup(pid);
    this.retire();
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
    const { fromHost, toHost } = this.#process;
    for (const stream of [fromHost, toHost]) stream.destroy();
    this.#output.destroy();
    this.#runs.close();
    this.#state = "ended";
    const death: HostDeath = {
      ...this.#exitStatus,
      killCause: this.#killCause,
      uncaught: this.#uncaught,
      stderrTail: this.#output.lastWords(),
      starved: this.#starved,
    };
    if (!wasRetired) this.#options.onUnusable();
    this.#boot.reject(this.#program.setUpProblem(death) ?? new HostBootError(null, death));
    for (const { n, result } of this.#runs.told()) this.#finish(n, { kind: "result", result });
    for (const n of this.#runs.numbers()) this.#finish(n, { kind: "died", death });
    this.#going.resolve();
    this.#exit.resolve(death);
  }
}

import {
  parseDuration,
  type HeldProcess,
  type ProcessControl,
  type ProcessInput,
  type ProcessStart,
} from "@keelson/contract";
import type { ProcessOutputStored } from "@keelson/contract";
import { retryCalls } from "../protocol/retry-calls.ts";
import { ServiceError } from "../protocol/service-error.ts";
import type { OutputOffsets, OutputPiece, ProcessExit, ProcessSpec } from "../supervisor/calls.ts";
import { classifyProcess } from "../deaths/death.ts";
import { SupervisorGoneError } from "../supervisor/supervisor-connection.ts";
import type { ProcessRelayOptions } from "./process-relay.ts";

/**
 * `lost`: the materialization is another worker's now. `left`: the relay was closed, and the process goes on. `broken`: it
 * is to run again, in what the last version has: its end is not told, but that of the materialization.
 */
export type RelayOutcome = "ended" | "lost" | "left" | "broken";

const GONE: ProcessExit = {
  ...{ outcome: "lost", exitCode: null, signal: null, timedOut: false },
  error: "The process that ran it is gone.",
};

/** What a process that was not started yet waits for before it begins. */
export type Admission = {
  /** It was not there when an earlier process of the agent ended: nobody but this one can have begun it. */
  isNew?: boolean;
  /** Whether the server has started it; absent: it is asked. */
  isStarted?: Promise<boolean>;
  /** What has to be on the disk before. */
  marked?: Promise<void>;
};

/** One process between the server and the supervisor. */
export class RelayedProcess {
  readonly #start: ProcessStart;
  readonly #options: ProcessRelayOptions;
  readonly #signal: AbortSignal;
  readonly #admission: Admission;
  /** True when the supervisor has it; input and controls wait for that. */
  readonly #begun = Promise.withResolvers<boolean>();
  readonly #over = Promise.withResolvers<void>();
  #turn: Promise<unknown> = Promise.resolve();
  #inputOffset = 0;
  #inputClosed = false;
  #controlSequence = 0;
  #isStalled = false;
  /** The supervisor is there, and what an earlier one ran is gone: what that changed is in the folder, and in no version. */
  #leftChanges = false;

  constructor(start: ProcessStart, options: ProcessRelayOptions, signal: AbortSignal, admission: Admission) {
    this.#start = start;
    this.#options = options;
    this.#signal = signal;
    this.#admission = admission;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  held(): HeldProcess {
    return {
      process_id: this.#start.process_id,
      input_offset: this.#inputOffset,
      input_closed: this.#inputClosed,
      control_sequence: this.#controlSequence,
    };
  }

  /** From the start until the server knows of the end. */
  async run(): Promise<RelayOutcome> {
    try {
      const exit = await this.#relay();
      if (exit === GONE && this.#start.on_lost === "rerun") return "broken";
      if (exit !== null) await this.#tellEnd(asTold(exit));
      return "ended";
    } catch (error) {
      if (this.#signal.aborted) return "left";
      if (error instanceof ServiceError && error.code === "lease_lost") return "lost";
      this.#log(error, "a process could not be relayed; ending it");
      return await this.#giveUp(error as Error);
    } finally {
      this.#begun.resolve(false);
      this.#over.resolve();
    }
  }

  input({ offset, data, closed }: ProcessInput): Promise<void> {
    return this.#inTurn(async (id) => {
      const bytes = Buffer.from(data, "base64");
      const taken = await this.#options.supervisor.writeInput(id, offset, bytes, closed);
      this.#inputOffset = Math.max(this.#inputOffset, taken);
      this.#isStalled = taken < offset + bytes.length;
      if (closed && !this.#isStalled) this.#inputClosed = true;
    });
  }

  control({ sequence, kind, signal, cols, rows }: ProcessControl): Promise<void> {
    return this.#inTurn(async (id) => {
      await this.#options.supervisor.control(id, { sequence, kind, signal, cols, rows });
      this.#controlSequence = Math.max(this.#controlSequence, sequence);
    });
  }

  /** Ends it; resolves when that is told. */
  async end(): Promise<void> {
    await this.#inTurn((id) => this.#options.supervisor.end(id));
    await this.#over.promise;
  }

  /** One after the other, once the supervisor has it. What fails is seen by who reads the output. */
  #inTurn(work: (id: string) => Promise<void>): Promise<void> {
    const done = this.#turn.then(async () => {
      if (!(await this.#begun.promise)) return;
      await work(this.#start.process_id).catch((error: unknown) =>
        this.#log(error, "a process did not take what it was sent"),
      );
    });
    this.#turn = done;
    return done;
  }

  /** Starts it and sends its output; null when the server did not want it any more. */
  async #relay(): Promise<ProcessExit | null> {
    const { supervisor, origin } = this.#options;
    const { process_id: id, status, given, stored } = this.#start;
    const isNew = origin === "started" || this.#admission.isNew === true;
    try {
      if (status === "pending" || (given === true && isNew)) return await this.#begin();
      const state = (await supervisor.list()).find((process) => process.id === id);
      // Whoever would have begun what was given is there, and does not know it: the answer that had it was lost.
      if (state === undefined && given === true && origin === "adopted") return await this.#begin();
      this.#leftChanges = state === undefined;
      if (state === undefined) return GONE;
      this.#inputOffset = state.inputOffset;
      this.#inputClosed = state.inputClosed;
      this.#controlSequence = state.controlSequence;
      this.#begun.resolve(true);
      return await this.#sendOutput({ ...stored });
    } catch (error) {
      if (error instanceof SupervisorGoneError && !this.#signal.aborted) return GONE;
      throw error;
    }
  }

  async #begin(): Promise<ProcessExit | null> {
    return (await this.#mayStart()) ? this.#startAndSend() : null;
  }

  /** Its output is asked for at once: the supervisor takes calls in their order, and the first byte waits for no answer. */
  async #startAndSend(): Promise<ProcessExit | null> {
    const started = this.#options.supervisor.start(toSpec(this.#start));
    const [exit] = await Promise.all([
      this.#sendOutput({ ...this.#start.stored }),
      started.then(() => this.#begun.resolve(true)),
    ]);
    return exit;
  }

  async #sendOutput(after: OutputOffsets): Promise<ProcessExit | null> {
    for (;;) {
      const { chunks, exit } = await this.#options.supervisor.readOutput(
        this.#start.process_id,
        after,
        this.#signal,
      );
      this.#signal.throwIfAborted();
      // Its answer is waited for: that is what paces the process.
      if (chunks.length > 0)
        Object.assign(after, await this.#post<ProcessOutputStored>("output", toWire(chunks)));
      if (exit !== null) return exit;
    }
  }

  /** Told first: a process is rather lost than started twice. What does not depend on the answer is done meanwhile. */
  async #mayStart(): Promise<boolean> {
    const { supervisor } = this.#options;
    let isWanted = false;
    // Whatever fails in it is met by the start, or does not matter any more; a former agent's supervisor cannot do it.
    void supervisor.prepare(toSpec(this.#start)).catch(() => undefined);
    try {
      const { isStarted = this.#isStarted(), marked } = this.#admission;
      [isWanted] = await Promise.all([isStarted, marked]);
    } finally {
      if (!isWanted) void supervisor.drop(this.#start.process_id).catch(() => undefined);
    }
    return isWanted;
  }

  /** What was given counts as started, unless it may have been taken away from an agent that was held up. */
  #isStarted(): Promise<boolean> {
    return this.#start.given === true && this.#options.hasLease()
      ? Promise.resolve(true)
      : this.#tellStarted();
  }

  async #tellStarted(): Promise<boolean> {
    try {
      await this.#post("started", {});
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "invalid_state") return false;
      throw error;
    }
  }

  async #tellEnd(exit: ProcessExit): Promise<void> {
    const { process_id: id, kind } = this.#start;
    let versionId: string | null = null;
    let problem = exit.error;
    const end = {
      outcome: exit.outcome,
      exit_code: exit.exitCode,
      signal: exit.signal,
      timed_out: exit.timedOut,
      // With the commit, too: an end that is told there is told once.
      ...(exit.error === null ? {} : { error: { message: exit.error.slice(0, 8192) } }),
    };
    if (exit.outcome !== "lost" || this.#leftChanges) {
      versionId = await this.#options
        .commit({ kind, id }, { process_id: id, ...end })
        .catch((error: unknown) => {
          if (this.#signal.aborted || isLost(error)) throw error;
          this.#log(error, "what a process changed could not be committed; the next commit has it");
          problem ??= `Its changes could not be committed: ${(error as Error).message}`;
          return null;
        });
    }
    await this.#post("ended", {
      ...end,
      ...(problem === null ? {} : { error: { message: problem.slice(0, 8192) } }),
      version_id: versionId,
    });
    await this.#options.supervisor.forget(id).catch((error: unknown) => {
      if (!(error instanceof SupervisorGoneError)) throw error;
    });
  }

  /** Something is wrong that no repeat mends: the process ends, and the server is told so if it listens. */
  async #giveUp(cause: Error): Promise<RelayOutcome> {
    const { supervisor } = this.#options;
    try {
      await supervisor.end(this.#start.process_id).catch(() => undefined);
      await this.#tellEnd({ ...GONE, error: `The worker could not continue: ${cause.message}` });
    } catch (error) {
      if (this.#signal.aborted) return "left";
      if (isLost(error)) return "lost";
      this.#log(error, "the end of a process could not be told");
    }
    return "ended";
  }

  #post<T>(word: "started" | "output" | "ended", body: object): Promise<T> {
    const { client, fields, random } = this.#options;
    const text = JSON.stringify({ ...fields, process_id: this.#start.process_id, ...body });
    return retryCalls(() => client.post<T>(`workspaces/processes/${word}`, text, { signal: this.#signal }), {
      random,
      signal: this.#signal,
      onRetry: (error, attempt) => {
        if (attempt % 5 === 0)
          this.#log(error, "the server did not take the word of a process; repeating it");
      },
    });
  }

  #log(err: unknown, message: string): void {
    this.#options.logger.warn({ err, processId: this.#start.process_id }, message);
  }
}

export function toSpec(start: ProcessStart): ProcessSpec {
  const { process_id: id, kind, command, cwd, env, timeout, cols, rows } = start;
  const timeoutMs = timeout === null ? null : parseDuration(timeout);
  return { id, kind, command, cwd, env, timeoutMs, cols, rows };
}

/** A machine that could start nothing says nothing of the command: that is lost, and not failed. */
const asTold = (exit: ProcessExit): ProcessExit =>
  classifyProcess(exit) === "not_started" ? { ...exit, outcome: "lost" } : exit;

const isLost = (error: unknown): boolean => error instanceof ServiceError && error.code === "lease_lost";

const toWire = (chunks: OutputPiece[]): object => ({
  chunks: chunks.map(({ stream, offset, data, at }) => ({
    ...{ stream, offset, data: data.toString("base64") },
    at: new Date(at).toISOString(),
  })),
});

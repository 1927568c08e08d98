import type {
  DurableError,
  EffectResult,
  ExecuteInput,
  ExecuteResult,
  JournalKind,
  NewWait,
  WaitState,
} from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { RefusedError, StepError } from "../../durable-errors.ts";
import { readRetryAdvice, RETRY_ADVICE } from "../../task-errors.ts";
import { fail } from "../failure.ts";
import { Deliveries } from "./deliveries.ts";
import { Outbox, type EffectCall } from "./outbox.ts";
import { createReplay, NondeterministicReplayError, type Known, type Replay } from "./replay.ts";

/** What became of a step's function: JSON text, or the error that the step has failed with and what was thrown. */
export type StepOutcome = { text: string; sent(): void } | { error: DurableError; thrown: unknown };

/** A wait's fields on the wire, without those that a position gives it. */
export type WaitFields = Omit<NewWait, "position" | "name">;

type Waiting = { name: string; resolve(state: WaitState): void };
type Settle<T> = { resolve(value: T): void; reject(error: Error): void };

const never = new Promise<never>(() => undefined);

/** An error of the journal as the code sees it: the same whether it is new or replayed. */
export function toError(error: DurableError): Error {
  if (error.code !== null) return new RefusedError(error.code, error.message);
  const made = new Error(error.message);
  made.name = error.name;
  if (error.stack !== null) made.stack = error.stack;
  return made;
}

/**
 * The durable calls of one execution of a run. Each takes the next position at once, in the order of the calls; what
 * the journal has at that position is its outcome, else it happens now. See `Deliveries` for the order in which the code
 * sees outcomes, and `Outbox` for how they become durable.
 */
export class DurableRun {
  readonly input: ExecuteInput;
  /** Resolves when the execution ends before its code does: suspended, or failed for what the code cannot handle. */
  readonly interrupted: Promise<ExecuteResult>;
  readonly #interrupt: (result: ExecuteResult) => void;
  readonly #replay: Replay;
  readonly #deliveries: Deliveries;
  readonly #outbox: Outbox;
  #state: "running" | "ended" | "suspended" = "running";
  #fatal: Error | null = null;
  #position = 1;
  /** Calls whose outcome the code does not have and that are no pending waits: while there are any, the run works. */
  readonly #working = new Set<number>();
  readonly #waiting = new Map<number, Waiting>();
  /** Settled waits that the code has not come to yet. */
  readonly #settled = new Map<number, WaitState>();
  /** How to end each call that the code waits for. */
  readonly #rejects = new Set<(error: Error) => void>();

  constructor(input: ExecuteInput) {
    this.input = input;
    const { promise, resolve } = Promise.withResolvers<ExecuteResult>();
    this.interrupted = promise;
    this.#interrupt = resolve;
    this.#replay = createReplay(input.journal, input.waits);
    const order = input.journal.filter(({ kind }) => kind !== "value").map(({ position }) => position);
    this.#deliveries = new Deliveries(order, () => this.#outbox.touch());
    this.#outbox = new Outbox({
      host: input.host,
      deliveries: this.#deliveries,
      isIdle: () => this.#isIdle(),
      onSettled: (waits) => this.#settle(waits),
      onRefused: (error) => this.#refused(error),
    });
    for (const wait of input.waits) if (wait.status !== "pending") this.#settled.set(wait.position, wait);
    input.host.onSettled((waits) => this.#settle(waits));
    input.host.onSuspend(() => this.#suspend());
    const { signal } = input;
    if (signal.aborted) this.#rejectAll(signal.reason as Error);
    else signal.addEventListener("abort", () => this.#rejectAll(signal.reason as Error), { once: true });
  }

  /** The code is where an earlier execution has been before. */
  get replaying(): boolean {
    return this.#replay.reaches(this.#position);
  }

  get signal(): AbortSignal {
    return this.input.signal;
  }

  /** A value that is drawn once and read from the journal ever after. */
  value<T>(name: string, draw: () => T): T {
    // Left-over code of a run that has ended draws for nobody.
    if (this.#state !== "running" || this.signal.aborted) return draw();
    const { position, known } = this.#take("value", name);
    if (known !== null && "entry" in known) return known.entry.value as T;
    const value = draw();
    this.#outbox.value({ position, kind: "value", name, value });
    return value;
  }

  /** A call that the server carries out. Rejects with what it answered as an error. */
  effect(kind: JournalKind, name: string, makeCall: (position: number) => EffectCall): Promise<unknown> {
    return this.#begin<unknown>(
      kind,
      name,
      ({ value, error }, { resolve, reject }) => (error === null ? resolve(value) : reject(toError(error))),
      (position, deliver) => this.#outbox.call(makeCall(position), deliver),
    );
  }

  /** A step: `work` runs once everything before it is durable, and never rejects. */
  step<T>(name: string, work: () => Promise<StepOutcome>): Promise<T> {
    return this.#begin<T>(
      "step",
      name,
      ({ value, error }, { resolve, reject }) =>
        error === null
          ? resolve(value as T)
          : reject(new StepError(name, toError(error), { retryable: false })),
      (position, _deliver, settle) => {
        const done = (): void => this.#done(position);
        const finished = (outcome: StepOutcome): void => {
          if ("text" in outcome) {
            const value = JSON.parse(outcome.text) as unknown;
            return this.#outbox.outcome({
              entry: { position, kind: "step", name, value },
              bytes: outcome.text.length,
              deliver: () => settle.resolve(JSON.parse(outcome.text) as T),
              done,
              sent: outcome.sent,
            });
          }
          if (this.signal.aborted) return;
          const { error, thrown } = outcome;
          const failure = new StepError(name, toError(error), readRetryAdvice(thrown));
          this.#outbox.outcome({
            entry: { position, kind: "step", name, error },
            bytes: error.message.length,
            deliver: () => settle.reject(failure),
            done,
            sent: () => {
              failure[RETRY_ADVICE] = { retryable: false };
            },
          });
        };
        void this.#outbox.durable().then(async () => {
          if (!this.signal.aborted && this.#state === "running") finished(await work());
        });
      },
    );
  }

  /** Resolves with the wait once it has settled. */
  wait(name: string, fields: WaitFields): Promise<WaitState> {
    return this.#begin<WaitState>(
      "wait",
      name,
      (outcome, { resolve }) => resolve(outcome.value as WaitState),
      (position, _deliver, settle, known) => {
        this.#waiting.set(position, { name, resolve: settle.resolve });
        this.#working.delete(position);
        const settled = this.#settled.get(position);
        if (settled !== undefined) this.#accept(settled);
        else if (known === null) this.#outbox.wait({ position, name, ...fields });
        else this.#outbox.touch();
      },
    );
  }

  /** Sends something that has no position: inside a step, whose outcome stands for it, or once the run is stopped. */
  async unjournaled(call: EffectCall): Promise<void> {
    if (this.#state === "suspended") return never;
    this.#checkUsable(call.kind);
    try {
      // The server has nothing to say of it: it was done or it was refused.
      await this.input.host.call(call);
    } catch (error) {
      this.#refused(error);
      throw error;
    }
  }

  /** The code has ended: everything that it did is sent, and the run's ending may turn out to be another. */
  async finish(ending: ExecuteResult): Promise<ExecuteResult> {
    if (this.#state === "suspended" || this.#fatal !== null) return this.interrupted;
    if (ending.outcome === "succeeded") {
      try {
        this.#replay.checkAllAsked(this.#position);
      } catch (error) {
        this.#interruptBy(error as Error);
        return this.interrupted;
      }
    }
    this.#state = "ended";
    this.#deliveries.close();
    await Promise.race([this.#outbox.finish(ending.outcome === "succeeded"), this.interrupted]);
    return this.#fatal === null ? ending : this.interrupted;
  }

  /** Gives the call its position, and throws when it cannot be made. */
  #take(kind: JournalKind, name: string): { position: number; known: Known } {
    this.#checkUsable(`${kind} "${name}"`);
    if (name === "" || name.length > LIMITS.durableNameCharacters)
      throw new RangeError(
        `The name of a ${kind} has 1 to ${LIMITS.durableNameCharacters} characters, not ${name.length}`,
      );
    const position = this.#position;
    this.#position += 1;
    try {
      return { position, known: this.#replay.find(position, kind, name) };
    } catch (error) {
      this.#interruptBy(error as Error);
      throw error;
    }
  }

  #checkUsable(what: string): void {
    if (this.#fatal !== null) throw this.#fatal;
    if (this.#state === "ended") throw new Error(`${what} was asked for after the code of the run had ended`);
  }

  /**
   * Makes a call: reads its outcome from the journal, or lets `start` make it happen. `deliver` puts the outcome in line
   * for the code once the server has it.
   */
  #begin<T>(
    kind: JournalKind,
    name: string,
    read: (outcome: EffectResult, settle: Settle<T>) => void,
    start: (
      position: number,
      deliver: (outcome: EffectResult) => void,
      settle: Settle<T>,
      known: Known,
    ) => void,
  ): Promise<T> {
    if (this.#state === "suspended") return never;
    const { promise, settle } = this.#open<T>();
    try {
      this.signal.throwIfAborted();
      const { position, known } = this.#take(kind, name);
      const done = (): void => this.#done(position);
      this.#working.add(position);
      if (known !== null && "entry" in known) {
        const { entry } = known;
        this.#deliveries.recorded(position, () => read(entry, settle), done);
      } else {
        start(position, (outcome) => this.#deliveries.live(() => read(outcome, settle), done), settle, known);
      }
    } catch (error) {
      settle.reject(error as Error);
    }
    return promise;
  }

  /** A promise for the code, which an abort or the run's failure rejects. */
  #open<T>(): { promise: Promise<T>; settle: Settle<T> } {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Code that does not look at an outcome does not end the process by it.
    promise.catch(() => undefined);
    const settle: Settle<T> = {
      resolve: (value) => {
        this.#rejects.delete(settle.reject);
        resolve(value);
      },
      reject: (error) => {
        this.#rejects.delete(settle.reject);
        reject(error);
      },
    };
    this.#rejects.add(settle.reject);
    return { promise, settle };
  }

  #isIdle(): boolean {
    if (this.#state !== "running" || this.#waiting.size === 0 || this.#working.size > 0) return false;
    if (!this.#deliveries.replaying) return true;
    this.#deliveries.watchForStall();
    return false;
  }

  #settle(waits: readonly WaitState[]): void {
    if (this.#state !== "running") return;
    for (const wait of waits) {
      if (wait.status === "pending" || this.#settled.has(wait.position)) continue;
      this.#settled.set(wait.position, wait);
      this.#outbox.resumed();
      if (this.#waiting.has(wait.position)) this.#accept(wait);
    }
  }

  /** The journal gets that the code saw it, and then the code does. */
  #accept(wait: WaitState): void {
    const { position } = wait;
    const { name, resolve } = this.#waiting.get(position) as Waiting;
    this.#waiting.delete(position);
    this.#working.add(position);
    this.#outbox.outcome({
      entry: { position, kind: "wait", name },
      bytes: 0,
      deliver: () => resolve(wait),
      done: () => this.#done(position),
    });
  }

  #done(position: number): void {
    this.#working.delete(position);
    this.#outbox.touch();
  }

  #suspend(): boolean {
    if (!this.#isIdle() || !this.#outbox.parked) return false;
    this.#state = "suspended";
    this.#close();
    this.#interrupt({ outcome: "suspended" });
    return true;
  }

  #refused(thrown: unknown): void {
    if (this.#fatal !== null || this.#state === "suspended") return;
    this.#interruptBy(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }

  /** The run fails by something that its code cannot handle. */
  #interruptBy(error: Error): void {
    if (this.#fatal !== null) return;
    this.#fatal = error;
    this.#close();
    const kind =
      error instanceof NondeterministicReplayError ? "nondeterministic_replay" : "application_error";
    this.#interrupt({
      ...fail(kind, error.message, { stack: error.stack ?? null, retryable: false }),
      codeLeft: true,
    });
    this.#rejectAll(error);
  }

  #close(): void {
    this.#deliveries.close();
    this.#outbox.close();
  }

  #rejectAll(error: Error): void {
    this.#waiting.clear();
    for (const reject of [...this.#rejects]) reject(error);
  }
}

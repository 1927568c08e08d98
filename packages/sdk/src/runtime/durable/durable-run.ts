import type { DurableResult, EffectResult, ExecuteResult, JournalKind, WaitState } from "@keelson/contract";
import { StepError } from "../../durable-errors.ts";
import { FINAL } from "../../retry-advice.ts";
import { fail } from "../failure.ts";
import { Calls } from "./calls.ts";
import { checkCallName } from "./check-call-name.ts";
import { Outbox, type EffectCall, type LooseCall } from "./outbox.ts";
import { CallPromises, type Settle } from "./call-promises.ts";
import { ContinueSignal } from "./continue-signal.ts";
import { Continuing } from "./continuing.ts";
import { NondeterministicReplayError, type Claim, type Known } from "./replay.ts";
import { toRefusedOutcome, type Begun } from "./refused-outcome.ts";
import { RunMessages } from "./run-messages.ts";
import { MACHINE_CLOCK, type RunClock, type RunInput } from "./run-input.ts";
import type { StepCall, StepOutcome } from "./run-tries.ts";
import { RunWaits, type Hearer, type WaitFields, type Waiting } from "./run-waits.ts";
import { stepKey } from "./step-key.ts";
import { toStepOutcome } from "./step-outcome.ts";
import { toError, type Refused } from "./to-error.ts";
import { UsageError } from "../../keelson-error.ts";

/** As fields of what is sent: a call of a journal without places goes on without one. */
const placed = (place: number | null): { place?: number } => (place === null ? {} : { place });

const never = new Promise<never>(() => undefined);

/**
 * The durable calls of one execution of a run. Each takes the next position at once, in the order of the calls; what
 * the journal has at that position is its outcome, else it happens now. See `Deliveries` for the order in which the code
 * sees outcomes, and `Outbox` for how they become durable.
 */
export class DurableRun {
  readonly input: RunInput;
  readonly clock: RunClock;
  /** Resolves when the execution ends before its code does: suspended, or failed for what the code cannot handle. */
  readonly interrupted: Promise<ExecuteResult>;
  readonly #interrupt: (result: ExecuteResult) => void;
  readonly #calls: Calls;
  readonly #outbox: Outbox;
  #state: "running" | "ended" | "suspended" = "running";
  #fatal: Error | null = null;
  /** Calls whose outcome the code does not have and that are no pending waits: while there are any, the run works. */
  readonly #working = new Set<number>();
  readonly waits: RunWaits;
  readonly messages = new RunMessages();
  readonly continuing: Continuing;
  #finishing: Promise<ExecuteResult> | null = null;
  readonly #promises = new CallPromises();

  constructor(input: RunInput) {
    this.input = input;
    this.clock = input.clock ?? MACHINE_CLOCK;
    const { promise, resolve } = Promise.withResolvers<ExecuteResult>();
    this.interrupted = promise;
    this.#interrupt = resolve;
    this.continuing = new Continuing(input.mayContinue === true, (ending) => {
      void this.finish(ending).then(this.#interrupt);
    });
    const { journal, waits } = input;
    this.#calls = new Calls({ journal, waits, onStalled: (error) => this.#interruptBy(error) });
    this.#outbox = new Outbox({
      host: input.host,
      deliveries: this.#calls.deliveries,
      isIdle: () => this.#isIdle(),
      onSettled: (waits) => this.settle(waits),
      onRefused: (error) => this.#refused(error),
    });
    this.waits = new RunWaits(input.onNewCall === undefined ? waits : []);
    input.host.onSettled((waits) => this.settle(waits));
    input.host.onInterrupt?.((id) => this.messages.interrupt(id));
    input.host.onSuspend(() => this.#suspend());
    const { signal } = input;
    if (signal.aborted) this.#rejectAll(signal.reason as Error);
    else signal.addEventListener("abort", () => this.#rejectAll(signal.reason as Error), { once: true });
  }

  /** The code begins when this resolves. */
  begin(): Promise<void> {
    return this.#calls.begin();
  }

  /** The code is where an earlier execution has been before. */
  get replaying(): boolean {
    return this.#calls.replaying;
  }

  /** Nothing that its code does counts any more: it has ended, was suspended, or has failed for good. */
  get over(): boolean {
    return this.#state !== "running" || this.#fatal !== null;
  }

  get signal(): AbortSignal {
    return this.input.signal;
  }

  /** A value that is drawn once and read from the journal ever after. */
  value<T>(name: string, draw: () => T): T {
    // Left-over code of a run that has ended draws for nobody.
    if (this.#state !== "running" || this.signal.aborted) return draw();
    if (this.continuing.leaveCode()) throw new ContinueSignal();
    this.#checkCall("value", name);
    const { position, place, known } = this.#orInterrupt(() => this.#calls.makeNow("value", name));
    if (known !== null && "entry" in known) return known.entry.value as T;
    const value = draw();
    if (this.#isOnlyTold(known, "value", name)) return value;
    this.#outbox.value({ position, ...placed(place), kind: "value", name, value });
    return value;
  }

  /** A call that the server carries out. Rejects with what it answered as an error. `begun` is told its position, also in a replay. */
  effect(
    kind: JournalKind,
    name: string,
    makeCall: (position: number) => EffectCall,
    refusalOf: (refused: Refused) => Error = ({ error }) => toError(error),
    begun?: (position: number) => void,
  ): Promise<unknown> {
    return this.#begin<unknown>(
      kind,
      name,
      ({ value, error }, { resolve, reject }) =>
        error === null ? resolve(value) : reject(refusalOf({ value, error })),
      ({ position, place }, { deliver, refused }) =>
        this.#outbox.call({ ...makeCall(position), ...placed(place) }, deliver, refused),
      begun,
    );
  }

  /** A step: `work` runs once everything before it is durable, and never rejects. */
  step<T>(name: string, work: (call: StepCall) => Promise<StepOutcome>): Promise<T> {
    return this.#begin<T>(
      "step",
      name,
      ({ value, error }, { resolve, reject }) =>
        error === null ? resolve(value as T) : reject(new StepError(name, toError(error), FINAL)),
      ({ position, place }, { settle }) => {
        const finished = (outcome: StepOutcome): void => {
          if ("error" in outcome && this.signal.aborted) return;
          const call = { position, ...placed(place), name };
          const done = (): void => this.#done(position);
          this.#outbox.outcome(toStepOutcome(call, outcome, { settle, done }));
        };
        // Only a journal without places has a call without one, and that call is known.
        const key = (): string => stepKey(this.input.run, name, place ?? position);
        void this.#outbox.durable().then(async () => {
          if (!this.signal.aborted && this.#state === "running") finished(await work({ position, key }));
        });
      },
    );
  }

  /**
   * Resolves with the wait once it has settled. When a message that the code writes is interrupted, it rejects; one for input is
   * given up, as when the signal is aborted, and resolves as `cancelled` unless its record has come.
   */
  wait(name: string, fields: WaitFields, signal?: AbortSignal): Promise<WaitState> {
    return this.#wait(name, fields, false, (position, { promise: over, reject }) => {
      const cancel = (): void => this.giveUp(position);
      this.waits.mayGiveUp(position, { kind: fields.kind, cancel, reject, over, signal });
      if (this.messages.interrupted) queueMicrotask(() => this.waits.giveUp(position - 1));
    });
  }

  /** Asks the server to settle the wait of that call, or to end the command that it started. */
  giveUp(position: number, isDecided = false): void {
    if (this.input.onNewCall === undefined) this.#outbox.cancel(position, isDecided);
  }

  /** An interrupt ends what that call has started. An earlier execution that made other calls after the interrupt has asked for it. */
  giveUpStarted(position: number): void {
    if (!this.#calls.pending) this.giveUp(position, true);
  }

  /** Tells what comes, in the order of the journal. The run neither waits for it nor works at it. */
  hear(name: string, fields: WaitFields, hearer: Hearer): void {
    const made = (position: number): void => hearer.heardAt(position);
    const heard = (state: WaitState): void => hearer.heard(state);
    void this.#wait(name, fields, true, made).then(heard, () => undefined);
  }

  #wait(
    name: string,
    fields: WaitFields,
    isHeard: boolean,
    made?: (position: number, settle: Settle<WaitState>) => void,
  ): Promise<WaitState> {
    return this.#begin<WaitState>(
      "wait",
      name,
      ({ value, error }, { resolve, reject }) =>
        error === null ? resolve(value as WaitState) : reject(toError(error)),
      ({ position, place, known }, { settle, refused }) => {
        const settled = this.waits.enter(position, { name, place, isHeard, resolve: settle.resolve });
        this.#working.delete(position);
        if (settled !== undefined) this.#accept(settled);
        else if (known === null)
          this.#outbox.wait({ position, ...placed(place), name, ...fields }, (refusal) => {
            this.waits.leave(position);
            refused(refusal);
          });
        else this.#outbox.touch();
      },
      made,
    );
  }

  /**
   * Sends something that has no position: inside a step, whose outcome stands for it, or once the run is stopped. Resolves with what
   * the server says of it; null for most.
   */
  async unjournaled<C extends LooseCall>(call: C): Promise<DurableResult<C> | null> {
    if (this.#state === "suspended" || this.continuing.leaveCode()) return never;
    this.#checkUsable(call.kind);
    try {
      return await this.input.host.call(call);
    } catch (error) {
      this.#refused(error);
      throw error;
    }
  }

  /** The run is to go on with an empty journal: throws what ends the code. */
  continueAs(payload: string | null): never {
    this.signal.throwIfAborted();
    this.#checkUsable("ctx.continueAs()");
    if (this.messages.isAnyOpen)
      throw new UsageError(
        "ctx.continueAs() was called while the code writes a message: await `message.end()` before it.",
      );
    return this.continuing.decide(payload);
  }

  /** The code has ended: everything that it did is sent, and the run's ending may turn out to be another. */
  finish(ending: ExecuteResult): Promise<ExecuteResult> {
    return (this.#finishing ??= this.#finish(ending));
  }

  async #finish(ending: ExecuteResult): Promise<ExecuteResult> {
    this.continuing.end();
    if (this.#state === "suspended" || this.#fatal !== null) return this.interrupted;
    const isWhole = ending.outcome === "succeeded" || ending.outcome === "continued";
    if (isWhole) {
      try {
        await Promise.race([this.#calls.allAsked(this.signal), this.interrupted]);
      } catch (error) {
        this.#interruptBy(error as Error);
        return this.interrupted;
      }
      if (this.#fatal !== null) return this.interrupted;
    }
    this.#state = "ended";
    this.#calls.close();
    await Promise.race([this.#outbox.finish(isWhole), this.interrupted]);
    return this.#fatal === null ? ending : this.interrupted;
  }

  /** Throws when the call cannot be made. */
  #checkCall(kind: JournalKind, name: string): void {
    this.#checkUsable(`${kind} "${name}"`);
    checkCallName(kind, name);
  }

  /** In a check, a call that the journal does not have goes no further. */
  #isOnlyTold(known: Known, kind: JournalKind, name: string): boolean {
    const { onNewCall } = this.input;
    if (known !== null || onNewCall === undefined) return false;
    onNewCall(kind, name);
    return true;
  }

  #orInterrupt<T>(make: () => T): T {
    try {
      return make();
    } catch (error) {
      this.#interruptBy(error as Error);
      throw error;
    }
  }

  #checkUsable(what: string): void {
    if (this.#fatal !== null) throw this.#fatal;
    if (this.#state === "ended")
      throw new UsageError(`${what} was asked for after the code of the run had ended`);
  }

  /**
   * Makes a call: reads its outcome from the journal, or lets `start` make it happen. `deliver` puts the outcome in line
   * for the code once the server has it.
   */
  #begin<T>(
    kind: JournalKind,
    name: string,
    read: (outcome: EffectResult, settle: Settle<T>) => void,
    start: (claim: Claim, begun: Begun<T>) => void,
    onMade?: (position: number, settle: Settle<T>) => void,
  ): Promise<T> {
    if (this.#state === "suspended" || this.continuing.leaveCode()) return never;
    const settle = this.#promises.open<T>();
    try {
      this.signal.throwIfAborted();
      this.#checkCall(kind, name);
      const { deliveries } = this.#calls;
      const made = (claim: Claim): void => {
        const { position, known } = claim;
        const done = (): void => this.#done(position);
        this.#working.add(position);
        if (this.#isOnlyTold(known, kind, name)) return;
        onMade?.(position, settle);
        if (known !== null && "entry" in known)
          deliveries.recorded(position, () => read(known.entry, settle), done);
        else
          start(claim, {
            settle,
            deliver: (outcome) => deliveries.live(() => read(outcome, settle), done),
            refused: (refusal) => {
              this.#working.add(position);
              const call = { position, ...placed(claim.place), kind, name };
              const handing = { read: (outcome: EffectResult) => read(outcome, settle), done };
              this.#outbox.outcome(toRefusedOutcome(call, refusal, handing));
            },
          });
      };
      this.#orInterrupt(() => this.#calls.make(kind, name, made));
    } catch (error) {
      settle.reject(error as Error);
    }
    return settle.promise;
  }

  #isIdle(): boolean {
    if (this.continuing.ending !== null) return false;
    return this.waits.any && this.#working.size === 0 && this.#state === "running" && !this.#calls.replaying;
  }

  /** The server says what has come of waits. */
  settle(waits: readonly WaitState[]): void {
    if (this.#state !== "running") return;
    for (const wait of waits) {
      if (!this.waits.settle(wait)) continue;
      this.#outbox.resumed();
      if (this.waits.has(wait.position)) this.#accept(wait);
    }
  }

  /** The journal gets that the code saw it, and then the code does. */
  #accept(wait: WaitState): void {
    const { position } = wait;
    const { name, place, resolve } = this.waits.leave(position) as Waiting;
    this.#working.add(position);
    this.#outbox.outcome({
      entry: { position, ...placed(place), kind: "wait", name },
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
    this.#calls.close();
    this.#outbox.close();
  }

  #rejectAll(error: Error): void {
    this.waits.clear();
    this.#promises.rejectAll(error);
  }
}

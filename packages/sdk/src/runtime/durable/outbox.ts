import type {
  CallRefusal,
  DurableCall,
  EffectResult,
  NewWait,
  RuntimeHost,
  WaitState,
} from "@keelson/contract";
import type { Deliveries } from "./deliveries.ts";
import { isOfCall } from "./refused-outcome.ts";

export type Entry = Extract<DurableCall, { kind: "steps" }>["entries"][number];
export type EffectCall = Exclude<DurableCall, { kind: "steps" | "waits" | "usage" }>;
/** What may be sent without a position. */
export type LooseCall = Exclude<DurableCall, { kind: "steps" | "waits" }>;

/** The outcome of a step or wait: an entry of the journal, and what happens with it. */
export type Outcome = {
  entry: Entry;
  /** Of its JSON, about. */
  bytes: number;
  /** Hands it to the code. */
  deliver(): void;
  /** The code has gone on as far as it gets. */
  done(): void;
  /** It is on its way to the journal, and what is said now comes right behind it. */
  sent?(): void;
};

type OutcomeItem = { kind: "outcome"; outcome: Outcome; state: "new" | "delivering" | "delivered" };

/** The server did not take the call, for what the call says. */
type OnRefused = (refusal: CallRefusal) => void;

type WaitItem = { kind: "wait"; wait: NewWait; refused: OnRefused };

type Item =
  | OutcomeItem
  | { kind: "value"; entry: Entry }
  | WaitItem
  | { kind: "cancel"; position: number; isDecided: boolean }
  | { kind: "call"; call: EffectCall; acknowledged(result: EffectResult): void; refused: OnRefused }
  | { kind: "barrier"; passed(): void };

/** Of the entries of one call: well below what a report takes. */
const ENTRIES_BYTES = 512 * 1024;
const MAX_ITEMS = 100;

const hasFailed = ({ entry }: Outcome): boolean => (entry.error ?? null) !== null;

export type OutboxOptions = {
  host: RuntimeHost;
  deliveries: Deliveries;
  /** The code does nothing but wait. */
  isIdle(): boolean;
  /** Waits that the server says have settled. */
  onSettled(waits: WaitState[]): void;
  /** The server did not take a call: the run cannot go on. */
  onRefused(error: unknown): void;
};

/**
 * Sends what the code does to the server, in order, at the end of each turn of the event loop.
 *
 * An outcome is handed to the code when the journal has it. The failure of a step is handed over before, and enters the
 * journal when the code makes its next call or waits: a failure that ends the attempt is thus never in the journal, and
 * the next attempt runs the step again. Outcomes that come meanwhile are handed over before too, and enter the journal
 * with it, so that the journal has all in the order in which the code saw them.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  #items: Item[] = [];
  /** Outcomes that the code has and the journal has not, beginning with a failure: no call was made since. */
  #ahead: Outcome[] = [];
  #scheduled = false;
  #closed = false;
  #inFlight = 0;
  #lastAnswer: Promise<void> = Promise.resolve();
  #park: "no" | "asked" | "parked" | "refused" = "no";
  #parkRequest = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** A value that the code has drawn. */
  value(entry: Entry): void {
    this.#push({ kind: "value", entry });
  }

  outcome(outcome: Outcome): void {
    this.#push({ kind: "outcome", outcome, state: "new" });
  }

  wait(wait: NewWait, refused: OnRefused): void {
    this.#push({ kind: "wait", wait, refused });
  }

  /**
   * What a call waits for, or has started, is given up, unless it has settled or ended meanwhile: what comes of it is told like that of all waits.
   * `isDecided`: the journal has what it is given up for, so each attempt gives it up.
   */
  cancel(position: number, isDecided: boolean): void {
    this.#push({ kind: "cancel", position, isDecided });
  }

  call(call: EffectCall, acknowledged: (result: EffectResult) => void, refused: OnRefused): void {
    this.#push({ kind: "call", call, acknowledged, refused });
  }

  /** Resolves when the server has everything that was said so far; never, when it does not take it. */
  durable(): Promise<void> {
    if (this.#items.length === 0 && this.#ahead.length === 0 && this.#inFlight === 0)
      return Promise.resolve();
    return new Promise((passed) => this.#push({ kind: "barrier", passed }));
  }

  /** Something has changed that may leave the code idle. */
  touch(): void {
    if (this.#park === "refused") this.#park = "no";
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#closed) return;
      if (this.#gathersWaits()) this.touch();
      else this.#flush();
    });
  }

  /**
   * Outcomes that came together are handed over one a turn, and after each the code may wait for something, as for each of hundreds of
   * children that have started. Such waits go out together, once the last of the outcomes is handed over.
   */
  #gathersWaits(): boolean {
    const { deliveries } = this.#options;
    return (
      deliveries.hasNext && this.#items.length < MAX_ITEMS && this.#items.every(({ kind }) => kind === "wait")
    );
  }

  /** The server has let the run go on, because a wait has settled. */
  resumed(): void {
    this.#parkRequest += 1;
    this.#park = "no";
  }

  /** The server knows that the run only waits, and nothing is on the way. */
  get parked(): boolean {
    return this.#park === "parked" && this.#items.length === 0 && this.#inFlight === 0;
  }

  /**
   * Sends what is left at the run's end and resolves when the server has it. Of a failed run, a failure that the code has
   * done nothing after is left out, and with it the calls that were made in its last moment: the next attempt may go
   * another way there.
   */
  async finish(succeeded: boolean): Promise<void> {
    const items = [...this.#ahead.map((outcome) => ({ kind: "outcome" as const, outcome })), ...this.#items];
    this.#ahead = [];
    this.#items = [];
    this.#unpark();
    let failed = false;
    for (const item of items) {
      if (item.kind === "outcome") {
        failed ||= hasFailed(item.outcome);
        if (succeeded || !hasFailed(item.outcome)) this.#sendEntries([item.outcome.entry], [item.outcome]);
      } else if (item.kind === "cancel") {
        if (item.isDecided) this.#sendWaits([], false, [item.position]);
      } else if (succeeded || !failed) {
        if (item.kind === "value") this.#sendEntries([item.entry], []);
        if (item.kind === "call") this.#send<EffectResult>(item.call, item.acknowledged);
      }
    }
    this.#closed = true;
    await this.#lastAnswer;
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true;
    this.#items = [];
  }

  #push(item: Item): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.touch();
  }

  #flush(): void {
    while (this.#items.length > 0) {
      const head = this.#items[0] as Item;
      if (head.kind === "outcome" && !this.#settleOutcome(head)) return;
      if (head.kind !== "outcome") this.#sendCall(head);
    }
    if (this.#park === "no" && this.#options.isIdle()) this.#sendWaits([], true);
  }

  /** Sends an outcome, or hands it to the code ahead of the journal. False while it is being handed over. */
  #settleOutcome(item: OutcomeItem): boolean {
    if (this.#ahead.length === 0 && !hasFailed(item.outcome)) {
      this.#sendOutcomes();
      return true;
    }
    if (item.state === "delivered") {
      this.#items.shift();
      this.#ahead.push(item.outcome);
      // The code has gone on: what it calls now is behind this, and ahead of the outcomes still to come.
      if (this.#items.some(({ kind }) => kind !== "outcome")) this.#catchUp();
      return true;
    }
    if (item.state === "new") {
      item.state = "delivering";
      const delivered = (): void => {
        item.state = "delivered";
        item.outcome.done();
        this.touch();
      };
      // Behind the outcomes that the journal has before it.
      void this.#lastAnswer.then(() => this.#options.deliveries.live(item.outcome.deliver, delivered));
    }
    return false;
  }

  #sendOutcomes(): void {
    let bytes = 0;
    const taken = this.#takeWhile((item) => {
      if (item.kind !== "outcome" || hasFailed(item.outcome)) return null;
      bytes += item.outcome.bytes;
      return bytes > ENTRIES_BYTES && bytes > item.outcome.bytes ? null : item.outcome;
    });
    this.#unpark();
    this.#sendEntries(
      taken.map(({ entry }) => entry),
      taken,
      () => {
        for (const { deliver, done } of taken) this.#options.deliveries.live(deliver, done);
      },
    );
  }

  #sendCall(head: Exclude<Item, OutcomeItem>): void {
    this.#catchUp();
    switch (head.kind) {
      case "barrier":
        this.#items.shift();
        return void this.#lastAnswer.then(() => (this.#closed ? undefined : head.passed()));
      case "call":
        this.#items.shift();
        this.#unpark();
        return this.#send<EffectResult>(head.call, head.acknowledged, head.refused);
      case "value": {
        const entries = this.#takeWhile((item) => (item.kind === "value" ? item.entry : null));
        this.#unpark();
        return this.#sendEntries(entries, []);
      }
      case "wait": {
        const waits = this.#takeWhile((item) => (item.kind === "wait" ? item : null));
        return this.#sendWaits(waits, this.#items.length === 0 && this.#options.isIdle());
      }
      case "cancel": {
        const cancels = this.#takeWhile((item) => (item.kind === "cancel" ? item.position : null));
        return this.#sendWaits([], false, cancels);
      }
    }
  }

  #sendEntries(entries: Entry[], outcomes: readonly Outcome[], acknowledged = (): void => undefined): void {
    this.#send<null>({ kind: "steps", entries }, acknowledged);
    for (const { sent } of outcomes) sent?.();
  }

  #takeWhile<T>(take: (item: Item) => T | null): T[] {
    const taken: T[] = [];
    for (const item of this.#items.slice(0, MAX_ITEMS)) {
      const part = take(item);
      if (part === null) break;
      taken.push(part);
    }
    this.#items.splice(0, taken.length);
    return taken;
  }

  /** The journal gets what the code has ahead of it. */
  #catchUp(): void {
    const ahead = this.#ahead.splice(0);
    if (ahead.length > 0) this.#unpark();
    for (const outcome of ahead) this.#sendEntries([outcome.entry], [outcome]);
  }

  #unpark(): void {
    if (this.#park === "asked" || this.#park === "parked") this.#sendWaits([], false);
    this.#park = "no";
  }

  #sendWaits(items: readonly WaitItem[], parked: boolean, cancels?: number[]): void {
    if (items.length > 0 || parked) this.#catchUp();
    this.#parkRequest += 1;
    const request = this.#parkRequest;
    this.#park = parked ? "asked" : "no";
    const waits = items.map(({ wait }) => wait);
    const call = { kind: "waits", waits, parked, ...(cancels !== undefined && { cancels }) } as const;
    const answered = (result: { parked: boolean; waits: WaitState[] }): void => {
      if (parked && request === this.#parkRequest) this.#park = result.parked ? "parked" : "refused";
      if (result.waits.length > 0) this.#options.onSettled(result.waits);
    };
    this.#send(
      call,
      answered,
      items.length === 0 ? undefined : (refusal) => this.#refusedWaits(items, refusal),
    );
  }

  /** One of them is why: each goes alone then. */
  #refusedWaits(items: readonly WaitItem[], refusal: CallRefusal): void {
    this.resumed();
    const [first] = items;
    if (items.length === 1) first?.refused(refusal);
    else for (const item of items) this.#sendWaits([item], false);
    this.touch();
  }

  #send<R>(call: DurableCall, answered: (result: R) => void, refused?: OnRefused): void {
    this.#inFlight += 1;
    // A value that is not JSON would make the host throw instead of reject.
    const answer = (async () => this.#options.host.call(call))();
    this.#lastAnswer = answer.then(
      (result) => {
        this.#inFlight -= 1;
        answered(result as R);
      },
      (error: unknown) => {
        // Once the code has ended, nobody is there to handle it.
        if (refused === undefined || this.#closed || !isOfCall(error)) return this.#options.onRefused(error);
        this.#inFlight -= 1;
        refused(error);
      },
    );
  }
}

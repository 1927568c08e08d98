import type { JournalEntry, JournalKind, WaitState } from "@keelson/contract";
import { isOwn, occurrenceOf, seenAt } from "./place.ts";
import { KeelsonError } from "../../keelson-error.ts";

/** The code does not make the calls that the journal says it made. */
export class NondeterministicReplayError extends KeelsonError {
  override readonly name = "NondeterministicReplayError";
}

const HINT =
  "A durable run makes the same calls in the same order each time: take times and random values from now(), random() and uuid(), and do I/O that decides what is called inside a step.";

/** What is known of a call before it is made: its outcome, or the wait that it made. */
export type Known = { entry: JournalEntry } | { wait: WaitState } | null;

/** A call that the code makes: what is known of it, and where in the course of the code it is kept. */
export type Claim = { position: number; place: number | null; known: Known };

/** A call that an earlier execution made. Without a place it was made before places were kept. */
type Recorded = { position: number; kind: JournalKind; name: string; place: number | null; known: Known };

/** `name` of a token's entry is the server's own. */
const fits = (recorded: Recorded, kind: JournalKind, name: string): boolean =>
  recorded.kind === kind && (kind === "token" || recorded.name === name);

type Called = Pick<Recorded, "kind" | "name">;

const show = ({ kind, name }: Called): string => `${kind} "${name}"`;

const LISTED = 5;

const list = (calls: readonly Called[]): string =>
  calls.slice(0, LISTED).map(show).join(", ") +
  (calls.length > LISTED ? ` and ${calls.length - LISTED} more` : "");

/**
 * The calls that earlier executions made, until the code has made them again. A call that an outcome leads to is known by
 * its number among the calls that this outcome led to. A call that I/O of the code's own leads to may come in another
 * order than before, and is known by its name.
 */
export class Replay {
  readonly #journal: readonly JournalEntry[];
  readonly #unasked = new Map<number, Recorded>();
  readonly #byPlace = new Map<number, Recorded>();
  /** By place; those before `#madeTo` have been made again. */
  readonly #inOrder: readonly Recorded[];
  #madeTo = 0;
  readonly #last: number;
  /** Positions that earlier executions gave to calls of which nothing was kept. */
  readonly #holes: number[] = [];
  #next: number;
  /** The smallest position that no call of this execution has. */
  #lowest = 1;
  readonly #taken = new Set<number>();

  constructor(journal: readonly JournalEntry[], waits: readonly WaitState[]) {
    this.#journal = journal;
    // The first execution of a run, as most are.
    if (journal.length + waits.length === 0) {
      this.#inOrder = [];
      this.#last = 0;
      this.#next = 1;
      return;
    }
    const calls: Recorded[] = [
      ...journal.map((entry) => ({ ...entry, place: entry.place ?? null, known: { entry } })),
      ...waits.map((wait) => ({
        ...wait,
        kind: "wait" as const,
        place: wait.place ?? null,
        known: { wait },
      })),
    ];
    for (const call of calls.toSorted((a, b) => a.position - b.position)) {
      this.#unasked.set(call.position, call);
      if (call.place !== null && !isOwn(call.place)) this.#byPlace.set(call.place, call);
    }
    this.#inOrder = calls
      .filter(({ place }) => place !== null)
      .toSorted((a, b) => (a.place as number) - (b.place as number));
    this.#last = Math.max(0, ...this.#unasked.keys());
    for (let position = 1; position < this.#last; position += 1)
      if (!this.#unasked.has(position)) this.#holes.push(position);
    this.#next = this.#last + 1;
  }

  /** Calls that earlier executions made are still to be made again. */
  get pending(): boolean {
    return this.#unasked.size > 0;
  }

  /** Whether the code has made every call again that it made before the outcome of this number. */
  hasMadeAllBefore(outcome: number): boolean {
    return seenAt(this.#earliest()?.place ?? Infinity) >= outcome;
  }

  /**
   * What is known of a call that is made at `place`. Null when an earlier execution made no such call up to there, while
   * others that it made are still to come: the call has to wait for those.
   *
   * @throws NondeterministicReplayError when the earlier execution made another call at this very place.
   */
  find(kind: JournalKind, name: string, place: number): Claim | null {
    const exact = this.#byPlace.get(place) ?? this.#withoutPlace();
    if (exact !== undefined && fits(exact, kind, name)) return this.#claim(exact);
    const hole = this.#holes[0];
    const named = this.findNamed(kind, name, place, hole !== undefined);
    if (named === "later") return null;
    if (named !== null) return named;
    if (exact !== undefined) throw mismatch(exact, { kind, name });
    if (hole !== undefined) return this.#take(hole, place);
    return this.pending ? null : this.takeNext(place);
  }

  /**
   * A call of this name that an earlier execution made up to `place`, by I/O of its own or where the code is no longer.
   * `later` when it made one, but had seen more outcomes by then.
   */
  findNamed(kind: JournalKind, name: string, place: number, mayBeLost = false): Claim | "later" | null {
    // A value is needed at once, so it cannot wait for its time.
    const until = kind === "value" ? Infinity : seenAt(place);
    let first: Recorded | undefined;
    let isLater = false;
    for (const call of this.#unasked.values()) {
      if (call.place === null || !fits(call, kind, name)) continue;
      if (!isOwn(call.place)) {
        if (call.place < place) first ??= call;
        else if (seenAt(call.place) > seenAt(place)) isLater = true;
        continue;
      }
      if (seenAt(call.place) > until) {
        isLater = true;
        continue;
      }
      if (!isOwn(place)) {
        first ??= call;
        continue;
      }
      if (occurrenceOf(call.place) === occurrenceOf(place)) return this.#claim(call);
      // The earlier execution made one of this name more: this one was made, and nothing was kept of it.
      if (occurrenceOf(call.place) > occurrenceOf(place) && mayBeLost) continue;
      first ??= call;
    }
    if (first !== undefined) return this.#claim(first);
    return isLater && kind !== "value" ? "later" : null;
  }

  /** A new call, which no earlier execution made. */
  takeNext(place: number): Claim {
    return this.#take(this.#next, place);
  }

  /**
   * The entry that code which has ended has not asked for. `isLate`: left-over code may still ask for it, because I/O of its
   * own led there.
   */
  findUnasked(): { error: NondeterministicReplayError; isLate: boolean } | null {
    const unasked = [...this.#unasked.values()].filter(({ known }) => known !== null && "entry" in known);
    const left = unasked[0];
    if (left === undefined) return null;
    const error = new NondeterministicReplayError(
      `The code ended before position ${left.position}, where the run's journal has ${show(left)}. ${HINT}`,
    );
    const earliest = unasked.reduce((a, b) => ((b.place ?? 0) < (a.place ?? 0) ? b : a));
    return { error, isLate: earliest.place !== null && isOwn(earliest.place) };
  }

  /** Says what the code did not ask for in time, what it asked for instead, and what it waits for. */
  describeStall(limitMs: number, askedInstead: readonly Called[], waitedFor: readonly number[]): Error {
    const missing = this.#earliest() ?? [...this.#unasked.values()][0];
    const instead = askedInstead.length === 0 ? "" : `it asked for ${list(askedInstead)} instead; `;
    const waiting = this.#journal.filter(({ position }) => waitedFor.includes(position));
    const waits = waiting.length === 0 ? "nothing" : list(waiting);
    return new NondeterministicReplayError(
      `The code did not ask for position ${missing?.position}, where the run's journal has ${missing && show(missing)}, within ${limitMs / 60_000} minutes; ${instead}it waits for ${waits}. ${HINT}`,
    );
  }

  /** The first call, in the order in which they were made, that is still to be made again. */
  #earliest(): Recorded | undefined {
    let call = this.#inOrder[this.#madeTo];
    while (call !== undefined && !this.#unasked.has(call.position)) {
      this.#madeTo += 1;
      call = this.#inOrder[this.#madeTo];
    }
    return call;
  }

  /** A call without a place is the one of the next position. */
  #withoutPlace(): Recorded | undefined {
    const call = this.#unasked.get(this.#lowest);
    return call?.place === null ? call : undefined;
  }

  #claim(call: Recorded): Claim {
    this.#unasked.delete(call.position);
    if (call.place !== null) this.#byPlace.delete(call.place);
    return this.#take(call.position, call.place, call.known);
  }

  #take(position: number, place: number | null, known: Known = null): Claim {
    this.#taken.add(position);
    while (this.#taken.delete(this.#lowest)) this.#lowest += 1;
    if (position === this.#holes[0]) this.#holes.shift();
    if (position === this.#next) this.#next += 1;
    return { position, place, known };
  }
}

const mismatch = (recorded: Recorded, asked: Called): Error =>
  new NondeterministicReplayError(
    `The code does not fit the run's journal at position ${recorded.position}: the journal has ${show(recorded)}, the code asked for ${show(asked)}. ${HINT}`,
  );

import type { JournalEntry, JournalKind, WaitState } from "@keelson/contract";
import { Deliveries } from "./deliveries.ts";
import { placeInTurn, placeOfOwn } from "./place.ts";
import { Replay, type Claim } from "./replay.ts";
import { afterTurns } from "./turn-timer.ts";

/** How long replayed code may do I/O of its own before it makes the next call that its journal has. */
export const ASK_LIMIT_MS = 5 * 60_000;

/** A call that came before its time: calls that earlier executions made are to be made first. */
type Held = { kind: JournalKind; name: string; occurrence: number; made(claim: Claim): void };

export type CallsOptions = {
  journal: readonly JournalEntry[];
  waits: readonly WaitState[];
  /** The code did not make the next call of the journal in time. */
  onStalled(error: Error): void;
};

/** Gives each call of the code its position and what is known of it, and the code its outcomes: see `Deliveries`. */
export class Calls {
  readonly deliveries: Deliveries;
  readonly #replay: Replay;
  readonly #onStalled: (error: Error) => void;
  /** In the turn of the last outcome. */
  #callsInTurn = 0;
  /** Calls that I/O of the code's own made, by kind and name. */
  readonly #ownCalls = new Map<string, number>();
  #held: Held[] = [];
  #endWatch: (() => void) | null = null;
  #onProgress: (() => void)[] = [];

  constructor({ journal, waits, onStalled }: CallsOptions) {
    this.#replay = new Replay(journal, waits);
    this.#onStalled = onStalled;
    this.deliveries = new Deliveries({
      order: journal.filter(({ kind }) => kind !== "value").map(({ position }) => position),
      mayDeliver: (outcome) => this.#replay.hasMadeAllBefore(outcome),
      onTurnEnd: () => {
        this.#callsInTurn = 0;
        this.#progressed();
      },
    });
  }

  /** The code begins when this resolves. */
  begin(): Promise<void> {
    this.#watch();
    return this.deliveries.begin();
  }

  /** The code is where an earlier execution has been before. */
  get replaying(): boolean {
    return this.#replay.pending || this.deliveries.replaying;
  }

  /**
   * Makes a call, now or when its time comes: `made` is called once. Throws when the journal has another call there.
   */
  make(kind: JournalKind, name: string, made: (claim: Claim) => void): void {
    const { place, occurrence } = this.#locate(kind, name);
    const claim = this.#replay.find(kind, name, place);
    if (claim === null) this.#held.push({ kind, name, occurrence, made });
    else this.#made(claim, made);
  }

  /** Makes a call that cannot wait. */
  makeNow(kind: JournalKind, name: string): Claim {
    const { place } = this.#locate(kind, name);
    const claim = this.#replay.find(kind, name, place) ?? this.#replay.takeNext(place);
    this.#progressed();
    return claim;
  }

  /** Calls that earlier executions made are still to be made again. */
  get pending(): boolean {
    return this.#replay.pending;
  }

  /** Resolves when left-over code can do no more of what the journal has. Throws when it ended too early. */
  async allAsked(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const unasked = this.#replay.findUnasked();
      if (unasked === null) return;
      if (!unasked.isLate) throw unasked.error;
      await new Promise<void>((resolve) => {
        this.#onProgress.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  /** Nothing is handed out or made any more. */
  close(): void {
    this.deliveries.close();
    this.#held = [];
    this.#endWatch?.();
    this.#endWatch = null;
  }

  #locate(kind: JournalKind, name: string): { place: number; occurrence: number } {
    const { seen, inTurn } = this.deliveries;
    if (inTurn) {
      this.#callsInTurn += 1;
      return { place: placeInTurn(seen, this.#callsInTurn - 1), occurrence: 0 };
    }
    const key = `${kind} ${name}`;
    const occurrence = this.#ownCalls.get(key) ?? 0;
    this.#ownCalls.set(key, occurrence + 1);
    return { place: placeOfOwn(seen, occurrence), occurrence };
  }

  #made(claim: Claim, made: (claim: Claim) => void): void {
    made(claim);
    if (claim.known !== null || this.replaying) this.#progressed();
  }

  /** The code has made a call of the journal, or has seen an outcome. */
  #progressed(): void {
    for (const resolve of this.#onProgress.splice(0)) resolve();
    this.#makeHeld();
    this.#watch();
    this.deliveries.wake();
  }

  #makeHeld(): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    for (const call of held) {
      const place = placeOfOwn(this.deliveries.seen, call.occurrence);
      const claim = this.#replay.pending
        ? this.#replay.findNamed(call.kind, call.name, place)
        : this.#replay.takeNext(place);
      if (claim === null || claim === "later") this.#held.push(call);
      else call.made(claim);
    }
  }

  #watch(): void {
    this.#endWatch?.();
    this.#endWatch = null;
    if (!this.replaying) return;
    this.#endWatch = afterTurns(ASK_LIMIT_MS, () => {
      const { waitedFor } = this.deliveries;
      this.#onStalled(this.#replay.describeStall(ASK_LIMIT_MS, this.#held, waitedFor));
    });
  }
}

import type { NewWait, WaitState } from "@keelson/contract";
import { InterruptedError } from "../../durable-errors.ts";
import { whenAborted } from "./when-aborted.ts";

/** A wait's fields on the wire, without those that a position gives it. */
export type WaitFields = Omit<NewWait, "position" | "name">;

/** Who hears of something while the code does other things. */
export type Hearer = { heardAt(position: number): void; heard(state: WaitState): void };

/** A wait that the code is in. */
export type Waiting = {
  name: string;
  place: number | null;
  /** The code goes on whatever comes of it. */
  isHeard: boolean;
  resolve(state: WaitState): void;
};

/**
 * How a wait ends before its time: one for input only when the server says so, as its record may have come. One for a run is of no use any more,
 * as the call that started the run ends that.
 */
type Ends = {
  kind: WaitFields["kind"];
  /** Asks the server, which tells what becomes of it. */
  cancel(): void;
  reject(error: Error): void;
  /** Settles when the code has its outcome. */
  over: Promise<unknown>;
  signal: AbortSignal | undefined;
};

/** The waits of one execution. */
export class RunWaits {
  readonly #waiting = new Map<number, Waiting>();
  /** Those that the code has not come to yet are among them. */
  readonly #settled = new Map<number, WaitState>();
  /** How to give up each call that an interrupt ends, by position. */
  readonly #givesUp = new Map<number, () => void>();

  constructor(known: readonly WaitState[]) {
    for (const wait of known) if (wait.status !== "pending") this.#settled.set(wait.position, wait);
  }

  /** The code waits for something. */
  get any(): boolean {
    return [...this.#waiting.values()].some(({ isHeard }) => !isHeard);
  }

  /** The code is in a wait. @returns what has come of it already */
  enter(position: number, waiting: Waiting): WaitState | undefined {
    this.#waiting.set(position, waiting);
    return this.#settled.get(position);
  }

  /** Undefined when the code is not in it. */
  leave(position: number): Waiting | undefined {
    const waiting = this.#waiting.get(position);
    this.#waiting.delete(position);
    return waiting;
  }

  has(position: number): boolean {
    return this.#waiting.has(position);
  }

  /** @returns whether that is news */
  settle(wait: WaitState): boolean {
    if (wait.status === "pending" || this.#settled.has(wait.position)) return false;
    this.#settled.set(wait.position, wait);
    return true;
  }

  /** An interrupt, or the signal, ends the wait before its time, until the code has its outcome. */
  mayGiveUp(position: number, { kind, cancel, reject, over, signal }: Ends): void {
    const askFor = (): void => {
      if (this.#waiting.has(position)) cancel();
    };
    const leave = (): void => {
      const waiting = this.#waiting.get(position);
      // Its outcome still comes into the journal, for nobody.
      if (waiting !== undefined) waiting.isHeard = true;
      if (kind === "run") askFor();
      reject(new InterruptedError());
    };
    this.onGiveUp(position, over, kind === "input" ? askFor : leave);
    whenAborted(signal, askFor, over);
  }

  /** An interrupt that ends what began at that position calls `act`, until `over` settles. */
  onGiveUp(position: number, over: Promise<unknown>, act: () => void): void {
    const forget = (): void => void this.#givesUp.delete(position);
    this.#givesUp.set(position, () => {
      forget();
      act();
    });
    over.then(forget, forget);
  }

  /** Gives up what the code has begun after that call, and waits for. */
  giveUp(after: number): void {
    for (const [position, giveUp] of [...this.#givesUp]) if (position > after) giveUp();
  }

  clear(): void {
    this.#waiting.clear();
  }
}

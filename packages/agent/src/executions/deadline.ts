/** How often it is looked at how long the code has run. */
const TICK_MS = 1_000;
/** A look that is later than this was not late by load: the machine slept, or the agent was stopped. */
const LATE_MS = 2_000;

export type DeadlineOptions = {
  /** Null: there is none. */
  limitMs: number | null;
  /** What is used up of it already. */
  usedMs: number;
  monotonic(): number;
  onOver(): void;
};

/**
 * The max_duration of an attempt, which counts the time that its code runs and not the time that it waits. Neither does it
 * count the time in which the agent did not run: the code did not run then either, or nobody can say how long it did.
 */
export class Deadline {
  readonly #options: DeadlineOptions;
  #usedMs: number;
  #runningSince: number | null = null;
  #lookDueAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.#usedMs = options.usedMs;
  }

  run(): void {
    if (this.#options.limitMs === null || this.#runningSince !== null) return;
    this.#arm(this.#options.limitMs);
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#count();
    this.#runningSince = null;
  }

  #arm(limitMs: number): void {
    const now = this.#options.monotonic();
    const stepMs = Math.min(Math.max(0, limitMs - this.#usedMs), TICK_MS);
    this.#runningSince = now;
    this.#lookDueAt = now + stepMs;
    this.#timer = setTimeout(() => {
      this.#count();
      // A timer may come a millisecond early.
      if (this.#usedMs >= limitMs - 1) this.#options.onOver();
      else this.#arm(limitMs);
    }, stepMs);
  }

  #count(): void {
    if (this.#runningSince === null) return;
    const now = this.#options.monotonic();
    const until = now - this.#lookDueAt > LATE_MS ? this.#lookDueAt : now;
    this.#usedMs += until - this.#runningSince;
    this.#runningSince = now;
  }
}

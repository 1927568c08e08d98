/** setTimeout takes 31 bits; a deadline past 24 days is looked at again then. */
const MAX_STEP_MS = 2_000_000_000;

export type DeadlineOptions = {
  /** Null: there is none. */
  limitMs: number | null;
  /** What is used up of it already. */
  usedMs: number;
  monotonic(): number;
  onOver(): void;
};

/** The max_duration of an attempt, which counts the time that its code runs and not the time that it waits. */
export class Deadline {
  readonly #options: DeadlineOptions;
  #usedMs: number;
  #runningSince: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.#usedMs = options.usedMs;
  }

  run(): void {
    if (this.#options.limitMs === null || this.#runningSince !== null) return;
    this.#runningSince = this.#options.monotonic();
    this.#arm(Math.max(0, this.#options.limitMs - this.#usedMs));
  }

  pause(): void {
    clearTimeout(this.#timer);
    if (this.#runningSince === null) return;
    this.#usedMs += this.#options.monotonic() - this.#runningSince;
    this.#runningSince = null;
  }

  #arm(restMs: number): void {
    const stepMs = Math.min(restMs, MAX_STEP_MS);
    this.#timer = setTimeout(
      () => (restMs > stepMs ? this.#arm(restMs - stepMs) : this.#options.onOver()),
      stepMs,
    );
  }
}

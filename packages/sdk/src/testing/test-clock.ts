type Timer = { at: number; act(): void };

/** The time of one test: it stands still until somebody lets it pass. */
export class TestClock {
  /** Milliseconds since the epoch. */
  now: number;
  /** In the order in which they were set, which decides between two of one time. */
  readonly #timers = new Set<Timer>();

  constructor(now: number) {
    this.now = now;
  }

  /** @returns takes it back */
  at(time: number, act: () => void): () => void {
    const timer = { at: time, act };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** When the next timer goes off. Null when there is none. */
  next(): number | null {
    return this.#first()?.at ?? null;
  }

  /** Goes on to the next timer, and lets that one go off. */
  advance(): void {
    const timer = this.#first();
    if (timer === null) return;
    this.#timers.delete(timer);
    this.passTo(timer.at);
    timer.act();
  }

  passTo(time: number): void {
    this.now = Math.max(this.now, time);
  }

  timestamp(): string {
    return new Date(this.now).toISOString();
  }

  #first(): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) if (first === null || timer.at < first.at) first = timer;
    return first;
  }
}

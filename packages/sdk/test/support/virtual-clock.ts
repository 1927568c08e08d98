type Timer = { at: number; run(): void };

/** Timers that go off when a test says so. It stands for `setTimeout` until it is removed. */
export class VirtualClock {
  now = 0;
  /** How many timers were set so far. */
  set = 0;
  readonly #timers = new Set<Timer>();
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

  install(): void {
    const clock = {
      setTimeout: (run: () => void, ms = 0) => this.after(ms, run),
      clearTimeout: (timer: Timer) => void this.#timers.delete(timer),
    };
    Object.assign(globalThis, clock);
  }

  remove(): void {
    Object.assign(globalThis, this.#real);
  }

  after(ms: number, run: () => void): Timer {
    this.set += 1;
    const timer = { at: this.now + ms, run };
    this.#timers.add(timer);
    return timer;
  }

  /** Goes on to the next timer. False when there is none. */
  advance(): boolean {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (next === null || timer.at < next.at) next = timer;
    if (next === null) return false;
    this.#timers.delete(next);
    this.now = Math.max(this.now, next.at);
    next.run();
    return true;
  }
}

import { AsyncLocalStorage } from "node:async_hooks";

type Timer = { at: number; place: VirtualPlace; run(): void };

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
const current = new AsyncLocalStorage<VirtualPlace | undefined>();

/** Replaces `setTimeout` for code that runs in a `VirtualPlace`, and for nothing else. */
function installOnce(): void {
  if (globalThis.setTimeout !== real.setTimeout) return;
  Object.assign(globalThis, {
    setTimeout: Object.assign(
      (run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): unknown => {
        const place = current.getStore();
        if (place === undefined) return real.setTimeout(run, ms, ...values);
        return place.after(ms, () => run(...values));
      },
      real.setTimeout,
    ),
    clearTimeout: (timer: unknown): void => {
      if (timer instanceof VirtualTimer) timer.clear();
      else real.clearTimeout(timer as never);
    },
  });
}

/** What `setTimeout` gives in a place. */
class VirtualTimer {
  readonly #clear: () => void;
  constructor(clear: () => void) {
    this.#clear = clear;
  }
  clear(): void {
    this.#clear();
  }
}

/** Timers that go off when a test says so: those of code that runs in a place of this clock. */
export class VirtualClock {
  now = 0;
  readonly #timers = new Set<Timer>();

  /** Where code has this clock's timers instead of the machine's. */
  place(): VirtualPlace {
    installOnce();
    return new VirtualPlace(this, this.#timers);
  }

  /** When the next timer goes off. Null when there is none. */
  next(): number | null {
    let next: number | null = null;
    for (const { at } of this.#timers) if (next === null || at < next) next = at;
    return next;
  }

  /** Goes on to the next timer. False when there is none. */
  advance(): boolean {
    const next = this.next();
    if (next === null) return false;
    this.advanceTo(next);
    return true;
  }

  /** Goes on, and lets go off what is due until then, in its order. */
  advanceTo(time: number): void {
    for (;;) {
      let next: Timer | null = null;
      for (const timer of this.#timers) if (next === null || timer.at < next.at) next = timer;
      if (next === null || next.at > time) break;
      this.#timers.delete(next);
      this.now = Math.max(this.now, next.at);
      const { place, run } = next;
      place.run(run);
    }
    this.now = Math.max(this.now, time);
  }
}

export class VirtualPlace {
  /** How many timers were set here so far. */
  set = 0;
  readonly #clock: VirtualClock;
  readonly #timers: Set<Timer>;

  constructor(clock: VirtualClock, timers: Set<Timer>) {
    this.#clock = clock;
    this.#timers = timers;
  }

  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  after(ms: number, run: () => void): VirtualTimer {
    this.set += 1;
    const timer = { at: this.#clock.now + ms, place: this, run };
    this.#timers.add(timer);
    return new VirtualTimer(() => this.#timers.delete(timer));
  }

  /** Code here does not run for so long, and then each timer goes off that came due meanwhile. */
  sleep(ms: number): void {
    for (const timer of [...this.#timers]) {
      if (timer.place !== this || timer.at > this.#clock.now + ms) continue;
      this.#timers.delete(timer);
      this.run(timer.run);
    }
  }

  /** Its timers never go off. */
  end(): void {
    for (const timer of this.#timers) if (timer.place === this) this.#timers.delete(timer);
  }
}

/** Runs what belongs to no place, such as the server of a test, when it is called from one. */
export const outsidePlaces = <T>(work: () => T): T => current.run(undefined, work);

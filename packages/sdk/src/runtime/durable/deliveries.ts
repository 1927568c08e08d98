/** How long the next outcome of the journal may stay unasked for while others wait: code may do I/O of its own between. */
const STALL_MS = 1_000;

type Delivery = { deliver(): void; done(): void };

/**
 * Hands outcomes to the code one at a time, and lets the code run as far as it gets before the next. First come those of
 * the journal, in its order, each once its call has been made; then those of this execution, in the order in which the
 * journal got them. So the code sees them in one order, however often it is replayed.
 */
export class Deliveries {
  /** Positions whose outcomes are handed out, in the order of the journal. */
  readonly #order: readonly number[];
  readonly #onStalled: () => void;
  readonly #delivered = new Set<number>();
  readonly #asked = new Map<number, Delivery>();
  readonly #live: Delivery[] = [];
  #at = 0;
  #stalledAt = -1;
  #timer: NodeJS.Timeout | null = null;
  #running = false;
  #closed = false;

  constructor(order: readonly number[], onStalled: () => void) {
    this.#order = order;
    this.#onStalled = onStalled;
  }

  /** The outcome of a call that is in the journal. `done` is called once the code has gone on as far as it gets. */
  recorded(position: number, deliver: () => void, done: () => void): void {
    this.#asked.set(position, { deliver, done });
    this.#wake();
  }

  /** The outcome of a call of this execution. */
  live(deliver: () => void, done: () => void): void {
    this.#live.push({ deliver, done });
    this.#wake();
  }

  /** Outcomes of the journal are still to be asked for. */
  get replaying(): boolean {
    return this.#skipDelivered() && this.#stalledAt !== this.#at;
  }

  /** Nothing is handed out any more. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #wake(): void {
    if (this.#running || this.#closed) return;
    this.#running = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#closed) return;
    const delivery = this.#take();
    if (delivery === null) {
      this.#running = false;
      return;
    }
    delivery.deliver();
    setImmediate(() => {
      if (!this.#closed) delivery.done();
      this.#next();
    });
  }

  #take(): Delivery | null {
    if (!this.#skipDelivered()) return this.#live.shift() ?? null;
    const next = this.#order[this.#at] as number;
    const expected = this.#asked.get(next);
    if (expected !== undefined) {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      return this.#takeRecorded(next, expected);
    }
    const [first] = this.#asked;
    if (this.#stalledAt === this.#at)
      return first === undefined ? (this.#live.shift() ?? null) : this.#takeRecorded(...first);
    if (first !== undefined || this.#live.length > 0) this.watchForStall();
    return null;
  }

  /** After a while, code that still has not asked for the next outcome of the journal no longer holds the others up. */
  watchForStall(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#stalledAt = this.#at;
      this.#onStalled();
      this.#wake();
    }, STALL_MS);
  }

  #takeRecorded(position: number, delivery: Delivery): Delivery {
    this.#asked.delete(position);
    this.#delivered.add(position);
    return delivery;
  }

  #skipDelivered(): boolean {
    while (this.#at < this.#order.length && this.#delivered.has(this.#order[this.#at] as number))
      this.#at += 1;
    return this.#at < this.#order.length;
  }
}

type Delivery = { deliver(): void; done(): void };

export type DeliveriesOptions = {
  /** Positions whose outcomes the journal has, in its order. */
  order: readonly number[];
  /** Whether the code has made every call that it made before the outcome of this number, 1 for the first. */
  mayDeliver(outcome: number): boolean;
  /** The code has gone as far as it gets with the outcome that it was handed last. */
  onTurnEnd(): void;
};

/**
 * Hands outcomes to the code one at a time, and lets the code run as far as it gets before the next. First come those of
 * the journal, in its order, each once its call has been made; then those of this execution, in the order in which the
 * journal got them. An outcome waits until the code has made the calls that it made before it. Time plays no part.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #asked = new Map<number, Delivery>();
  readonly #live: Delivery[] = [];
  #seen = 0;
  /** The code runs because of the outcome `#seen`, or because it has just begun: nothing else has run since. */
  #inTurn = false;
  #running = false;
  #closed = false;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** How many outcomes the code has. */
  get seen(): number {
    return this.#seen;
  }

  get inTurn(): boolean {
    return this.#inTurn;
  }

  /** Positions whose outcomes of the journal the code has asked for and not got yet. */
  get waitedFor(): number[] {
    return [...this.#asked.keys()];
  }

  /** Outcomes of the journal are still to be handed out. */
  get replaying(): boolean {
    return this.#seen < this.#options.order.length;
  }

  /** An outcome is handed out in the next turn, unless the code has calls to make again before. */
  get hasNext(): boolean {
    return this.#running && !this.#closed && this.#live.length > 0;
  }

  /** The code begins when this resolves. */
  begin(): Promise<void> {
    this.#running = true;
    return new Promise((resolve) => this.#turn({ deliver: resolve, done: () => undefined }));
  }

  /** The outcome of a call that is in the journal. `done` is called once the code has gone on as far as it gets. */
  recorded(position: number, deliver: () => void, done: () => void): void {
    this.#asked.set(position, { deliver, done });
    this.wake();
  }

  /** The outcome of a call of this execution. */
  live(deliver: () => void, done: () => void): void {
    this.#live.push({ deliver, done });
    this.wake();
  }

  /** Looks again whether an outcome can be handed out. */
  wake(): void {
    if (this.#running || this.#closed) return;
    this.#running = true;
    this.#turn(null);
  }

  /** Nothing is handed out any more. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Two immediates in a row: the event loop runs what the first one's outcome makes the code do, and nothing else, before the
   * second. So a call in between is known to be made by the outcome.
   */
  #turn(first: Delivery | null): void {
    let delivery: Delivery | null = null;
    setImmediate(() => {
      if (this.#closed) return;
      delivery = first ?? this.#take();
      if (delivery === null) return;
      this.#inTurn = true;
      delivery.deliver();
    });
    setImmediate(() => {
      if (this.#closed) return;
      this.#inTurn = false;
      if (delivery === null) {
        this.#running = false;
        return;
      }
      delivery.done();
      this.#options.onTurnEnd();
      this.#turn(null);
    });
  }

  #take(): Delivery | null {
    const { order, mayDeliver } = this.#options;
    if (!mayDeliver(this.#seen + 1)) return null;
    const delivery = this.replaying ? this.#askedFor(order[this.#seen] as number) : this.#live.shift();
    if (delivery === undefined) return null;
    this.#seen += 1;
    return delivery;
  }

  #askedFor(position: number): Delivery | undefined {
    const delivery = this.#asked.get(position);
    this.#asked.delete(position);
    return delivery;
  }
}

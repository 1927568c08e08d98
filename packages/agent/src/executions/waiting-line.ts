/** How long an execution that was leased ahead waits here before another worker may have it. */
const LONGEST_WAIT_MS = 1_000;

/**
 * Executions that were leased ahead, in order, until a slot is free. What waits too long is given to `handBack`: runs that
 * took a moment until now may take hours from now on, and nobody waits behind them while other workers are free.
 */
export class WaitingLine<Item> {
  readonly #monotonic: () => number;
  readonly #handBack: (item: Item) => void;
  readonly #waiting: { item: Item; since: number }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(monotonic: () => number, handBack: (item: Item) => void) {
    this.#monotonic = monotonic;
    this.#handBack = handBack;
  }

  get size(): number {
    return this.#waiting.length;
  }

  push(item: Item): void {
    this.#waiting.push({ item, since: this.#monotonic() });
    if (this.#timer === null) this.#timer = setTimeout(() => this.#look(), LONGEST_WAIT_MS);
  }

  shift(): Item | undefined {
    return this.#waiting.shift()?.item;
  }

  /** Nothing is handed back any more. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #look(): void {
    const now = this.#monotonic();
    const inTime = this.#waiting.findIndex(({ since }) => now - since < LONGEST_WAIT_MS);
    const overdue = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime);
    for (const { item } of overdue) this.#handBack(item);
    const [next] = this.#waiting;
    this.#timer =
      next === undefined
        ? null
        : setTimeout(() => this.#look(), Math.max(1, next.since + LONGEST_WAIT_MS - now));
  }
}

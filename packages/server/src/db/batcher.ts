import { takeFairly } from "./take-fairly.ts";

/**
 * Natural batching: concurrent callers share one statement, a lone caller waits for nobody.
 *
 * What is submitted in one turn of the event loop is a batch; while `maxInFlight` batches are under way, what comes is
 * the next one. Two in flight keep the database busy while the other's answers are being written out; more only make
 * smaller batches.
 */
export type Batcher<Item, Result> = {
  /** Resolves or rejects with this item's own outcome. */
  submit(item: Item): Promise<Result>;
  /** Items not yet answered. */
  pending(): number;
};

export type BatchOutcome<Result> = { ok: true; value: Result } | { ok: false; error: unknown };

export type BatcherOptions<Item, Result> = {
  maxItems: number;
  maxInFlight: number;
  /** Whose item it is: of a queue that is longer than a batch, all groups get the same share. Default: one group. */
  groupOf?(item: Item): string;
  /** Outcomes in the order of the items. A rejection is every item's outcome. */
  run(items: Item[]): Promise<BatchOutcome<Result>[]>;
};

type Entry<Item, Result> = { item: Item; resolve(value: Result): void; reject(error: unknown): void };

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const groupOf = options.groupOf ?? (() => "");
  let queue: Entry<Item, Result>[] = [];
  let inFlight = 0;
  let answering = 0;
  let scheduled = false;

  const schedule = (): void => {
    if (scheduled || inFlight >= options.maxInFlight || queue.length === 0) return;
    scheduled = true;
    // After the poll phase: everything that arrived on any socket in this turn is in the queue by then.
    setImmediate(flush);
  };

  const flush = (): void => {
    scheduled = false;
    while (inFlight < options.maxInFlight && queue.length > 0) {
      const batch = takeBatch();
      inFlight += 1;
      answering += batch.length;
      void runBatch(batch);
    }
  };

  const takeBatch = (): Entry<Item, Result>[] => {
    const whole = queue;
    queue = [];
    if (whole.length <= options.maxItems) return whole;
    const { taken, left } = takeFairly(whole, options.maxItems, ({ item }) => groupOf(item));
    queue = left;
    return taken;
  };

  const runBatch = async (batch: Entry<Item, Result>[]): Promise<void> => {
    try {
      const outcomes = await options.run(batch.map((entry) => entry.item));
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) entry.reject(new Error("The batch gave no outcome for this item."));
        else if (outcome.ok) entry.resolve(outcome.value);
        else entry.reject(outcome.error);
      }
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      inFlight -= 1;
      answering -= batch.length;
      schedule();
    }
  };

  return {
    submit: (item) =>
      new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject });
        schedule();
      }),
    pending: () => queue.length + answering,
  };
}

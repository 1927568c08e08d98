import { isUnanswered } from "./connection-error.ts";
import { takeFairly } from "./take-fairly.ts";

/**
 * Natural batching: concurrent callers share one statement, a lone caller waits for nobody.
 *
 * What is submitted in one turn of the event loop is a batch; while `maxInFlight` batches are under way, what comes is
 * the next one. Two in flight keep the database busy while the other's answers are being written out; more only make
 * smaller batches. So does a second one that is smaller than what is under way, and a statement costs as much as thirty
 * of its rows (measured for starts): it waits until it is as large, or until the other is done.
 *
 * With groups, nobody waits for the batches of somebody else: items of groups that have nothing under way go out beside
 * them, and of a queue that is longer than a batch all groups get the same share.
 *
 * Who waits for a batch has what time is left of a request's: when PostgreSQL does not answer a batch in time, what waited
 * behind it fails with it, and does not wait for as long again.
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
  /** Whose item it is. Default: all are of one group. */
  groupOf?(item: Item): string;
  /** Outcomes in the order of the items. A rejection is every item's outcome. */
  run(items: Item[]): Promise<BatchOutcome<Result>[]>;
};

type Entry<Item, Result> = {
  item: Item;
  group: string;
  resolve(value: Result): void;
  reject(error: unknown): void;
};

/** Batches that may go out beside full ones, for groups that have none under way. */
const MAX_BESIDE = 2;

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { maxInFlight, maxItems, groupOf = () => "" } = options;
  let queue: Entry<Item, Result>[] = [];
  /** The groups of each batch under way. */
  const inFlight = new Set<ReadonlySet<string>>();
  let answering = 0;
  let scheduled = false;

  const schedule = (): void => {
    if (scheduled || inFlight.size >= maxInFlight + MAX_BESIDE || queue.length === 0) return;
    scheduled = true;
    // After the poll phase: everything that arrived on any socket in this turn is in the queue by then.
    setImmediate(flush);
  };

  const flush = (): void => {
    scheduled = false;
    while (inFlight.size < maxInFlight + MAX_BESIDE && queue.length > 0) {
      const batch = takeBatch();
      if (batch.length === 0) return;
      answering += batch.length;
      void runBatch(batch);
    }
  };

  const takeBatch = (): Entry<Item, Result>[] => {
    const mayGoBeside = inFlight.size < maxInFlight && queue.length >= answering;
    const { ready, rest } = mayGoBeside ? { ready: queue, rest: [] } : withNoneUnderWay(queue, inFlight);
    if (ready.length <= maxItems) {
      queue = rest;
      return ready;
    }
    const { taken, left } = takeFairly(ready, maxItems, ({ group }) => group);
    // Items of a group are in one of the two, so their order is kept.
    queue = rest.length === 0 ? left : [...rest, ...left];
    return taken;
  };

  const runBatch = async (batch: Entry<Item, Result>[]): Promise<void> => {
    const groups = new Set(batch.map(({ group }) => group));
    inFlight.add(groups);
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
      if (isUnanswered(error)) for (const entry of queue.splice(0)) entry.reject(error);
    } finally {
      inFlight.delete(groups);
      answering -= batch.length;
      schedule();
    }
  };

  return {
    submit: (item) =>
      new Promise<Result>((resolve, reject) => {
        queue.push({ item, group: groupOf(item), resolve, reject });
        schedule();
      }),
    pending: () => queue.length + answering,
  };
}

function withNoneUnderWay<One extends { group: string }>(
  queue: readonly One[],
  inFlight: Iterable<ReadonlySet<string>>,
): { ready: One[]; rest: One[] } {
  const underWay = new Set([...inFlight].flatMap((groups) => [...groups]));
  const ready: One[] = [];
  const rest: One[] = [];
  for (const entry of queue) (underWay.has(entry.group) ? rest : ready).push(entry);
  return { ready, rest };
}

import type { Tx } from "../../db/queryable.ts";
import type { TransactionOptions } from "../../db/transaction.ts";
import { isNobodysFault, trackFailures, type ItemContext } from "./failed-items.ts";
import { nameOfItem, type LoopItem } from "./loop-failure.ts";

/** Rows that a transaction took, and whether there may be others. */
export type Taken<Row> = { rows: Row[]; more: boolean };

export type BatchWork<Row, Result> = {
  loop: string;
  /** Rows of one transaction while nothing fails. */
  limit: number;
  options?: TransactionOptions;
  itemOf: (row: Row) => LoopItem;
  /** What processing changes of a row that may be taken again in the same round; null: nothing that can be seen. */
  stateOf?: (row: Row) => string | null;
  /** Locks at most so many rows that are to be processed and not set aside, in an order that stays the same. */
  take: (tx: Tx, limit: number, now: number) => Promise<Taken<Row>>;
  apply: (tx: Tx, rows: Row[], now: number) => Promise<Result>;
  /** After the commit; null when no row was taken. */
  done?: (result: Result | null) => void;
};

/** How often in a row the same row may be taken unchanged, as one that loses races is. */
const REPEATS = 3;

/**
 * Processes rows in batches, a transaction each, until there are no more. When a batch throws, the next one has half as
 * many rows, down to one; a row that throws alone is set aside. After a batch that succeeds, the next one has twice as
 * many. So one bad row costs about as many transactions as its batch has binary digits, and stops no other row.
 *
 * @throws what no row is to blame for: a lost connection, a full disk, an error before any row was taken.
 */
export async function processInBatches<Row, Result>(
  context: ItemContext,
  work: BatchWork<Row, Result>,
): Promise<void> {
  const items = trackFailures(context, work.loop);
  const repeats = countRepeats(work);
  for (let { limit } = work; ;) {
    const now = context.clock();
    const attempt = await tryBatch(context, work, repeats, limit, now);
    const { rows, more } = attempt.taken;
    if ("result" in attempt) {
      work.done?.(attempt.result);
      repeats.count(rows);
      await items.forget(rows.map(work.itemOf));
      if (!more) return;
      limit = Math.min(work.limit, limit * 2);
      continue;
    }
    const [row] = rows;
    if (row === undefined || isNobodysFault(attempt.error)) throw attempt.error;
    if (rows.length > 1) {
      limit = Math.floor(rows.length / 2);
      continue;
    }
    await items.setAside(work.itemOf(row), attempt.error, now);
  }
}

type Attempt<Row, Result> = { taken: Taken<Row> } & ({ result: Result | null } | { error: unknown });

async function tryBatch<Row, Result>(
  { db }: ItemContext,
  work: BatchWork<Row, Result>,
  repeats: Repeats<Row>,
  limit: number,
  now: number,
): Promise<Attempt<Row, Result>> {
  let taken: Taken<Row> = { rows: [], more: false };
  try {
    const result = await db.transaction(async (tx) => {
      taken = { rows: [], more: false };
      taken = await work.take(tx, limit, now);
      if (taken.rows.length === 0) return null;
      repeats.refuseStuck(taken.rows);
      return work.apply(tx, taken.rows, now);
    }, work.options);
    return { taken, result };
  } catch (error) {
    return { taken, error };
  }
}

type Repeats<Row> = {
  /** Rows whose transaction was committed. */
  count: (rows: readonly Row[]) => void;
  /** @throws when processing a row again and again leaves it as it is, so that the loop would never end. */
  refuseStuck: (rows: readonly Row[]) => void;
};

function countRepeats<Row>({
  itemOf,
  stateOf = () => "",
}: Pick<BatchWork<Row, unknown>, "itemOf" | "stateOf">): Repeats<Row> {
  let counts = new Map<string, number>();
  const nameOf = (row: Row): string | null => {
    const state = stateOf(row);
    return state === null ? null : `${nameOfItem(itemOf(row))} ${state}`;
  };
  const countOf = (row: Row): number => counts.get(nameOf(row) ?? "") ?? 0;
  return {
    count: (rows) => {
      counts = new Map(
        rows.flatMap((row) => {
          const name = nameOf(row);
          return name === null ? [] : [[name, countOf(row) + 1] as const];
        }),
      );
    },
    refuseStuck: (rows) => {
      if (rows.some((row) => countOf(row) >= REPEATS))
        throw new Error("The item was processed, and it is as due as before.");
    },
  };
}

/**
 * Processes rows one after the other, each in transactions of its own. A row that throws is set aside.
 *
 * @returns how many were processed.
 */
export async function processEach<Row>(
  context: ItemContext,
  loop: string,
  rows: readonly Row[],
  itemOf: (row: Row) => LoopItem,
  work: (row: Row) => Promise<void>,
): Promise<number> {
  if (rows.length === 0) return 0;
  let processed = 0;
  const items = trackFailures(context, loop);
  for (const row of rows) {
    const item = itemOf(row);
    const now = context.clock();
    if (await items.isSetAside(item, now)) continue;
    try {
      await work(row);
    } catch (error) {
      if (isNobodysFault(error)) throw error;
      await items.setAside(item, error, now);
      continue;
    }
    processed += 1;
    await items.forget([item]);
  }
  return processed;
}

import type { Tx } from "../../db/queryable.ts";
import { isNobodysFault, type ItemContext } from "../loop-failures/failed-items.ts";
import type { LoopItem } from "../loop-failures/loop-failure.ts";
import { processInBatches, type Taken } from "../loop-failures/process-items.ts";
import { addRolled, groupOf, rollUp, rollupKeyOf, type RunGroup } from "./run-rollup.ts";
import {
  areOlderOver,
  findLastNumber,
  groupEnded,
  listEnded,
  listOldEnded,
  listRollupsByKey,
  listUncounted,
  lockProgress,
  readProgress,
  ROLLUP_LOOP,
  takeTransactionId,
  type LockedProgress,
  type TakenRun,
} from "./run-rollup-reads.ts";
import {
  deleteUncounted,
  insertUncounted,
  markFilled,
  upsertRollups,
  writeCountedNumber,
  writeFilled,
} from "./run-rollup-writes.ts";

/** Runs of one transaction. */
const LIMIT = 2_000;
/** Transactions of one round: after each round, the loop pauses. */
const ROUND_BATCHES = 5;
const SOON_MS = 200;

/** `isSettled`: whether the time is certain enough to leave out what is too old to be kept. */
export type CountContext = ItemContext & { isSettled: () => boolean };

/** Numbers up to this one belong to transactions with lower ids than this one's. */
type Horizon = { number: number; transactionId: string };

/**
 * Counts ended runs. Numbers of ends are given out in one order and committed in another. So before it counts up to a number, it
 * waits until each transaction that can have such a number is over: those whose ids are lower than one that was taken
 * after the number was read.
 *
 * @returns a function that counts some of what is to be counted. It returns the milliseconds until there may be more.
 */
export function createRunCounting(context: CountContext): () => Promise<number | void> {
  let horizon: Horizon | null = null;
  let isFilled = false;
  return async () => {
    const progress = await readProgress(context.db);
    let isBehind = false;
    if (progress.hasUncounted)
      await countTaken(context, { batches: 1, count: countSetAside }, (tx, limit, now) =>
        takeUncounted(tx, now, limit),
      );
    if (progress.lastNumber > progress.countedNumber) {
      horizon ??= await findHorizon(context);
      if (!(await areOlderOver(context.db, horizon.transactionId))) isBehind = true;
      else {
        const { number } = horizon;
        const together = progress.hasFailedAhead ? null : await countTogether(context, number);
        isBehind =
          together ??
          (await countTaken(context, ROUND, (tx, limit, now) => takeEnded(tx, number, limit, now)));
        if (!isBehind) horizon = null;
      }
    }
    isFilled ||= progress.filled;
    if (!isFilled) isBehind = (await countTaken(context, ROUND, takeOldEnded)) || isBehind;
    return isBehind ? SOON_MS : undefined;
  };
}

const findHorizon = ({ db }: ItemContext): Promise<Horizon> =>
  db.transaction(
    async (tx) => {
      const number = await findLastNumber(tx);
      return { number, transactionId: await takeTransactionId(tx) };
    },
    { durability: "relaxed" },
  );

type Round = {
  batches: number;
  count: (tx: Tx, runs: readonly TakenRun[], now: number | null) => Promise<void>;
};
const ROUND: Round = { batches: ROUND_BATCHES, count };

const itemOf = ({ environmentId, runId }: TakenRun): LoopItem => ({ environmentId, itemId: runId });

/** @returns whether there is more. A crash of PostgreSQL may undo the last transactions with their progress, and they are done again. */
async function countTaken(
  context: CountContext,
  { batches, count: countRuns }: Round,
  take: (tx: Tx, limit: number, now: number) => Promise<Taken<TakenRun>>,
): Promise<boolean> {
  let left = batches;
  let hasMore = false;
  await processInBatches<TakenRun, void>(context, {
    loop: ROLLUP_LOOP,
    limit: LIMIT,
    options: { durability: "relaxed" },
    itemOf,
    stateOf: () => null,
    take: async (tx, limit, now) => {
      const taken = await take(tx, limit, now);
      hasMore = taken.more;
      left -= 1;
      return { rows: taken.rows, more: hasMore && left > 0 };
    },
    apply: (tx, rows, now) => countRuns(tx, rows, context.isSettled() ? now : null),
  });
  return hasMore;
}

/**
 * Counts all runs up to a number by groups, which costs a fraction of one by one.
 *
 * @returns whether there is more; null: a run is in the way, and has to be found
 */
async function countTogether(context: CountContext, upTo: number): Promise<boolean | null> {
  try {
    for (let left = ROUND_BATCHES; left > 0; left -= 1) {
      const hasMore = await context.db.transaction((tx) => countNext(tx, upTo, context), {
        durability: "relaxed",
      });
      if (!hasMore) return false;
    }
    return true;
  } catch (error) {
    if (isNobodysFault(error)) throw error;
    return null;
  }
}

/** @returns whether there is more. */
async function countNext(tx: Tx, upTo: number, { clock, isSettled }: CountContext): Promise<boolean> {
  const progress = await lockProgress(tx);
  if (progress === null || progress.countedNumber >= upTo) return false;
  const groups = await groupEnded(tx, { after: progress.countedNumber, upTo, limit: LIMIT });
  const hasMore = groups.reduce((sum, { runs }) => sum + runs, 0) === LIMIT;
  const last = Math.max(...groups.map(({ lastNumber }) => lastNumber));
  await writeCountedNumber(tx, hasMore ? last : upTo);
  await countGroups(tx, groups, isSettled() ? clock() : null);
  return hasMore;
}

async function takeEnded(tx: Tx, upTo: number, limit: number, now: number): Promise<Taken<TakenRun>> {
  const progress = await lockProgress(tx);
  if (progress === null || progress.countedNumber >= upTo) return { rows: [], more: false };
  const rows = await listEnded(tx, { after: progress.countedNumber, upTo, limit, now });
  const more = rows.length === limit;
  await writeCountedNumber(tx, more ? (rows.at(-1)?.endNumber ?? upTo) : upTo);
  return { rows: await passSetAside(tx, rows), more };
}

async function takeOldEnded(tx: Tx, limit: number, now: number): Promise<Taken<TakenRun>> {
  const progress = await lockProgress(tx);
  if (progress === null || progress.filled) return { rows: [], more: false };
  return takeOldAfter(tx, progress, limit, now);
}

async function takeOldAfter(
  tx: Tx,
  { filledEnvironmentId: environmentId, filledRunId: runId }: LockedProgress,
  limit: number,
  now: number,
): Promise<Taken<TakenRun>> {
  const rows = await listOldEnded(tx, { environmentId, runId, limit, now });
  const last = rows.at(-1);
  if (last === undefined) {
    await markFilled(tx);
    return { rows: [], more: false };
  }
  await writeFilled(tx, last);
  const old = rows.filter(({ endNumber }) => endNumber === null);
  return { rows: await passSetAside(tx, old), more: true };
}

async function takeUncounted(tx: Tx, now: number, limit: number): Promise<Taken<TakenRun>> {
  if ((await lockProgress(tx)) === null) return { rows: [], more: false };
  const rows = await listUncounted(tx, now, limit);
  return { rows, more: rows.length === limit };
}

/** What could not be counted is noted for later, in the transaction that counts those after it. */
async function passSetAside(tx: Tx, rows: readonly TakenRun[]): Promise<TakenRun[]> {
  const passed = rows.filter(({ isSetAside }) => isSetAside);
  if (passed.length > 0) await insertUncounted(tx, passed);
  return rows.filter(({ isSetAside }) => !isSetAside);
}

function count(tx: Tx, runs: readonly TakenRun[], now: number | null): Promise<void> {
  return countGroups(tx, runs.map(groupOf), now);
}

async function countGroups(tx: Tx, groups: readonly RunGroup[], now: number | null): Promise<void> {
  const rollups = rollUp(groups, now);
  if (rollups.length > 0) {
    const known = new Map((await listRollupsByKey(tx, rollups)).map((row) => [rollupKeyOf(row), row]));
    for (const rollup of rollups) {
      const before = known.get(rollupKeyOf(rollup));
      if (before !== undefined) addRolled(rollup, before);
    }
    await upsertRollups(tx, rollups);
  }
}

/** Those that could not be counted before. */
async function countSetAside(tx: Tx, runs: readonly TakenRun[], now: number | null): Promise<void> {
  await count(tx, runs, now);
  await deleteUncounted(tx, runs);
}

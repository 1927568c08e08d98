import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { BACKGROUND_LIMIT_MS } from "../../db/session-settings.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { findLastNumber } from "../run-rollups/run-rollup-reads.ts";
import { LATE_MS } from "./index-runs.ts";
import {
  FIRST_LIVE,
  findLiveAfter,
  INDEX_LOOP,
  lockEndedSince,
  type EndedRun,
  type LiveRun,
} from "./run-search-reads.ts";
import { deleteLive } from "./run-search-writes.ts";
import { storeWords } from "./store-words.ts";

/** Runs that are looked at in a round: by their keys alone, some milliseconds for each thousand. */
const LOOKED_AT = 20_000;
const INDEXED = 200;
/** Between looks after the last end, until no transaction can be late any more. */
export const QUIET_MS = 10_000;
/** While no run ends, all runs that lived are looked at once in so long: for what could not be indexed before. */
const LOOK_AGAIN_MS = 5 * 60_000;

/** What one server remembers: where it looks next, and since when there was nothing to look for. */
export type EndedIndexer = { run(): Promise<boolean> };

/**
 * Gives runs their last words: the error that they ended with, and metadata that has changed since they were indexed. Those that
 * ended with neither keep the words that they have. It goes over the runs that lived when they were indexed, round and round.
 * With more of them than a round looks at, an end is seen some rounds later. Runs that only wait may be many and for long: while no
 * run ends, they are looked at now and then, and no more once all have been looked at that a transaction which was late may have ended.
 *
 * @returns `run` is one round, and gives whether more of them are to be looked at.
 */
export function createEndedIndexer(
  context: ItemContext,
  monotonic: () => number = () => performance.now(),
): EndedIndexer {
  let after = FIRST_LIVE;
  let passBegunAt = Number.NEGATIVE_INFINITY;
  let lastNumber = -1;
  let lastEndAt = monotonic();
  /** All have been looked at since the last end. */
  const isDone = (now: number): boolean =>
    passBegunAt - lastEndAt > LATE_MS && now - passBegunAt < LOOK_AGAIN_MS;
  const isQuiet = (now: number): boolean => lastEndAt <= passBegunAt && now - passBegunAt < QUIET_MS;
  return {
    run: async () => {
      const now = monotonic();
      const number = await findLastNumber(context.db);
      if (number !== lastNumber) {
        lastNumber = number;
        lastEndAt = now;
      }
      if (after === FIRST_LIVE) {
        if (isDone(now) || isQuiet(now)) return false;
        passBegunAt = now;
      }
      const to = await findLiveAfter(context.db, after, LOOKED_AT);
      await indexBetween(context, after, to);
      after = to ?? FIRST_LIVE;
      return to !== null;
    },
  };
}

async function indexBetween(context: ItemContext, after: LiveRun, to: LiveRun | null): Promise<void> {
  await processInBatches<EndedRun, void>(context, {
    loop: INDEX_LOOP,
    limit: INDEXED,
    options: { durability: "relaxed", limitMs: BACKGROUND_LIMIT_MS },
    itemOf: ({ environmentId, runId }) => ({ environmentId, itemId: runId }),
    take: async (tx, limit, now) => {
      const rows = await lockEndedSince(tx, { after, to }, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: applyTo,
  });
}

async function applyTo(tx: Tx, runs: readonly EndedRun[]): Promise<void> {
  const byEnvironment = Map.groupBy(runs, ({ environmentId }) => environmentId);
  for (const [environmentId, ended] of byEnvironment) {
    const more = ended.filter(({ hasMore }) => hasMore);
    if (more.length > 0) await storeWords(tx, environmentId, idsOf(more));
    await deleteLive(tx, environmentId, idsOf(ended));
  }
}

const idsOf = (runs: readonly EndedRun[]): Uuid<"run">[] => runs.map(({ runId }) => runId);

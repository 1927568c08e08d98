import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { BACKGROUND_LIMIT_MS } from "../../db/session-settings.ts";
import { FIRST_UUID, firstUuidOf, LAST_UUID } from "../../uuid.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { omitSetAside } from "../loop-failures/loop-failure-reads.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import {
  findIndexState,
  INDEX_LOOP,
  listBlocks,
  listEnvironmentsToIndex,
  listPassed,
  lockIndexState,
  type IndexState,
} from "./run-search-reads.ts";
import { storeWords } from "./store-words.ts";
import {
  closeOldestBlock,
  deleteEmptyBlocks,
  deleteOrphans,
  insertBlock,
  insertIndexState,
  updateIndexState,
} from "./run-search-writes.ts";
import { WORDS_VERSION } from "./words-version.ts";

/** Runs that a pass goes by in a transaction, whether they have their words already or not. */
const PASSED = 500;
/** Runs of one transaction: some tens of milliseconds, of which the process is busy for less than ten. */
const INDEXED = 200;
/** Of one environment in one round: others have their turn. */
const OF_AN_ENVIRONMENT = 1_000;
/** Runs of a block, about. */
export const BLOCK_RUNS = 4_096;
/** Runs that are younger are looked at in each round: what two transactions commit is not in the order of ids. */
export const SETTLE_MS = 1_000;
/** Longer than a transaction that starts runs lasts. */
export const LATE_MS = 120_000;
/** All runs are looked through again after so long: for rows of an older server, and for what no other pass has found. */
export const SWEEP_MS = 6 * 3_600_000;

export type IndexContext = ItemContext & {
  /** Runs of a block. */
  blockRuns?: number;
  /** Runs that a pass indexes of one environment in a round. */
  environmentRuns?: number;
};

/**
 * Fills the index of words. Each environment has three passes over its runs by their ids. The fresh one takes what is new,
 * in its order. The late one goes over the same again minutes later: a transaction may have committed an id that is older
 * than others which were there already. The sweep goes over everything from the newest to the oldest: at the beginning, when
 * words are cut in a new way, and now and then. Where a pass is, is written with what it has indexed, under the lock of the
 * environment. Nothing depends on what a server remembers.
 *
 * @returns whether there is more to do; null: there was nothing
 */
export async function indexRuns(context: IndexContext): Promise<boolean | null> {
  const now = context.clock();
  const lateBefore = firstUuidOf(now - LATE_MS);
  const ids = await listEnvironmentsToIndex(context.db, { lateBefore, sweptBefore: now - SWEEP_MS });
  if (ids.length === 0) return null;
  let more = false;
  for (const environmentId of ids) {
    const state = await findIndexState(context.db, environmentId);
    // Its first sweep begins once there is something to go on from.
    more ||= state === null;
    for (const pass of [FRESH, LATE, SWEEP]) {
      const isDue = pass === FRESH || (state !== null && pass.rangeOf(withSweep(state, now), now) !== null);
      if (isDue) more = (await runPass(context, environmentId, pass)) || more;
    }
  }
  return more;
}

/** One way over the runs of an environment. */
type Pass = {
  isNewestFirst: boolean;
  /** The runs that are left of it, as `[from, before)`; null when there are none. */
  rangeOf: (state: IndexState, now: number) => { from: string; before: string } | null;
  /** Where it goes on after what it went by, up to and with `last`; null: up to the end of the range. */
  advance: (state: IndexState, last: string | null, now: number) => IndexState;
};

const earlier = (one: string, other: string): string => (one < other ? one : other);
const later = (one: string, other: string): string => (one > other ? one : other);

const FRESH: Pass = {
  isNewestFirst: false,
  rangeOf: ({ freshTo }) => ({ from: freshTo, before: LAST_UUID }),
  // The run itself stays in the range of the next time, which costs nothing.
  advance: (state, last, now) => {
    const settled = firstUuidOf(now - SETTLE_MS);
    return { ...state, freshTo: later(state.freshTo, last === null ? settled : earlier(last, settled)) };
  },
};

const LATE: Pass = {
  isNewestFirst: false,
  rangeOf: ({ lateTo, freshTo }, now) => {
    const before = earlier(freshTo, firstUuidOf(now - LATE_MS));
    return lateTo < before ? { from: lateTo, before } : null;
  },
  advance: (state, last, now) => ({
    ...state,
    lateTo: last ?? earlier(state.freshTo, firstUuidOf(now - LATE_MS)),
  }),
};

const SWEEP: Pass = {
  isNewestFirst: true,
  rangeOf: ({ sweepBefore }) => (sweepBefore === null ? null : { from: FIRST_UUID, before: sweepBefore }),
  advance: (state, last, now) => {
    const isFilling = state.wholeFrom === state.sweepBefore;
    const wholeFrom = isFilling ? (last ?? FIRST_UUID) : state.wholeFrom;
    if (last !== null) return { ...state, wholeFrom, sweepBefore: last };
    return { ...state, wholeFrom, sweepBefore: null, sweptAt: now, isFilled: true };
  },
};

/** The state with a sweep that is due begun. */
function withSweep(state: IndexState, now: number): IndexState {
  if (state.version < WORDS_VERSION)
    return { ...state, version: WORDS_VERSION, wholeFrom: state.freshTo, sweepBefore: state.freshTo };
  const isDue = state.sweepBefore === null && (state.sweptAt ?? 0) < now - SWEEP_MS;
  return isDue ? { ...state, sweepBefore: state.freshTo } : state;
}

/** What a batch goes by, to be known of once it is committed. */
type Step = { before: IndexState; after: IndexState; place: string | null; runs: number; isAtEnd: boolean };

/** @returns whether the pass stopped before its end. */
async function runPass(context: IndexContext, environmentId: Uuid<"env">, pass: Pass): Promise<boolean> {
  let left = context.environmentRuns ?? OF_AN_ENVIRONMENT;
  // Of this round: runs that are not settled are not gone over again and again.
  let place: string | null = null;
  let step: Step | null = null;
  await processInBatches<Uuid<"run">, void>(context, {
    loop: INDEX_LOOP,
    limit: Math.min(left, INDEXED),
    options: { durability: "relaxed", limitMs: BACKGROUND_LIMIT_MS },
    itemOf: (itemId) => ({ environmentId, itemId }),
    stateOf: () => null,
    take: async (tx, limit, now) => {
      step = null;
      const begun = await beginIn(tx, environmentId, pass, now);
      if (begun === null) return { rows: [], more: false };
      const range = placed(begun.range, place, pass);
      const passed = await listPassed(
        tx,
        environmentId,
        { ...range, isNewestFirst: pass.isNewestFirst },
        PASSED,
      );
      const missing = passed.filter(({ isIndexed }) => !isIndexed).map(({ id }) => id);
      const due = await omitSetAside(tx, INDEX_LOOP, environmentId, missing, now);
      const rows = due.slice(0, limit);
      // What comes after the batch is for the next one.
      const last = (due.length > limit ? rows.at(-1) : passed.at(-1)?.id) ?? null;
      const isAtEnd = passed.length < PASSED && due.length <= limit;
      const after = pass.advance(begun.state, isAtEnd ? null : last, now);
      step = { before: begun.state, after, place: last, runs: rows.length, isAtEnd };
      if (pass === SWEEP) await tidyUp(tx, environmentId, isAtEnd ? null : last, range.before);
      if (rows.length === 0) await updateIndexState(tx, environmentId, after);
      return { rows, more: !isAtEnd && left > rows.length };
    },
    apply: async (tx, runIds) => {
      if (step !== null) await indexBatch(tx, context, environmentId, { runIds, ...step });
    },
    done: () => {
      place = step?.place ?? place;
      left -= Math.max(1, step?.runs ?? 0);
    },
  });
  return step !== null && !(step as Step).isAtEnd;
}

/** What the sweep finds besides runs without words. `last`: what it came to; null: it is at its end. */
async function tidyUp(
  tx: Tx,
  environmentId: Uuid<"env">,
  last: string | null,
  before: string,
): Promise<void> {
  await deleteOrphans(tx, environmentId, last ?? FIRST_UUID, before);
  if (last === null) await deleteEmptyBlocks(tx, environmentId);
}

async function beginIn(
  tx: Tx,
  environmentId: Uuid<"env">,
  pass: Pass,
  now: number,
): Promise<{ state: IndexState; range: { from: string; before: string } } | null> {
  // One that is there already costs this one statement nothing but a look.
  if (pass === FRESH) await insertIndexState(tx, environmentId, firstUuidOf(now - SETTLE_MS));
  const locked = await lockIndexState(tx, environmentId);
  if (locked === null || locked.version > WORDS_VERSION) return null;
  const state = withSweep(locked, now);
  const range = pass.rangeOf(state, now);
  return range === null ? null : { state, range };
}

const placed = (
  range: { from: string; before: string },
  place: string | null,
  { isNewestFirst }: Pass,
): { from: string; before: string } => {
  if (place === null) return range;
  return isNewestFirst
    ? { ...range, before: earlier(range.before, place) }
    : { ...range, from: later(range.from, place) };
};

type Batch = { runIds: readonly Uuid<"run">[]; before: IndexState; after: IndexState };

async function indexBatch(
  tx: Tx,
  { blockRuns = BLOCK_RUNS }: IndexContext,
  environmentId: Uuid<"env">,
  { runIds, before, after }: Batch,
): Promise<void> {
  const sorted = runIds.toSorted();
  const nextBlock = await makeRoom(tx, environmentId, { sorted, state: before, blockRuns });
  await storeWords(tx, environmentId, runIds);
  const newest = later(before.newest, sorted.at(-1) ?? FIRST_UUID);
  await updateIndexState(tx, environmentId, { ...after, newest, nextBlock });
}

/**
 * Begins a new block where one is full: after the newest indexed run, or before the oldest while the index is filled for the
 * first time. Between them a block gets the few that come late. @returns the next block's number.
 */
async function makeRoom(
  tx: Tx,
  environmentId: Uuid<"env">,
  { sorted, state, blockRuns }: { sorted: readonly string[]; state: IndexState; blockRuns: number },
): Promise<number> {
  const { newest, nextBlock, sweepBefore, isFilled } = state;
  const first = sorted.find((id) => id > newest);
  if (first !== undefined) {
    const [block] = await listBlocks(tx, environmentId, LAST_UUID, 1);
    if ((block?.runs ?? 0) < blockRuns) return nextBlock;
    await insertBlock(tx, environmentId, { first, block: nextBlock });
    return nextBlock + 1;
  }
  const last = sorted.at(-1);
  if (isFilled || sweepBefore === null || last === undefined || last >= sweepBefore) return nextBlock;
  const blocks = await listBlocks(tx, environmentId, last, 1);
  if ((blocks[0]?.runs ?? 0) < blockRuns || blocks[0]?.first !== FIRST_UUID) return nextBlock;
  await closeOldestBlock(tx, environmentId, sweepBefore);
  await insertBlock(tx, environmentId, { first: FIRST_UUID, block: nextBlock });
  return nextBlock + 1;
}

import type { IdPrefix, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { BACKGROUND_LIMIT_MS } from "../../db/session-settings.ts";
import { firstUuidOf } from "../../uuid.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { omitSetAside } from "../loop-failures/loop-failure-reads.ts";
import type { LoopItem } from "../loop-failures/loop-failure.ts";
import { processInBatches, type Taken } from "../loop-failures/process-items.ts";
import { FIRST_KEY, type DroppedKind } from "./retention.ts";
import type { SweepFronts } from "./sweep-fronts.ts";
import { takeRetentionLock, type Candidate, type Sweep } from "./retention-reads.ts";

export type SweepContext = ItemContext & {
  /** Told what went, for the metrics. */
  countDropped: (kind: DroppedKind, count: number) => void;
  /** Told that another server is dropping something: what this one leaves is left to it. */
  noteOtherServer?: () => void;
};

/** Keys that a transaction looks at. What hangs on one of them goes with it: some thousand rows, in tens of milliseconds. */
export const PAGE = 500;

export type List<Prefix extends IdPrefix> = (tx: Tx, sweep: Sweep) => Promise<Candidate<Prefix>[]>;
export type Drop<Prefix extends IdPrefix> = (
  tx: Tx,
  environmentId: Uuid<"env">,
  ids: readonly Uuid<Prefix>[],
  now: number,
) => Promise<number>;

export type DropWork<Row> = {
  kind: DroppedKind;
  limit: number;
  itemOf: (row: Row) => LoopItem;
  take: (tx: Tx, limit: number, now: number) => Promise<Taken<Row>>;
  drop: (tx: Tx, rows: Row[], now: number) => Promise<number>;
  /** After a transaction whose rows went. */
  advance?: (dropped: number) => void;
};

/** Drops by one server at a time. A crash of PostgreSQL may undo the last transactions, and the next round does them again. */
export const dropInBatches = <Row>(
  context: SweepContext,
  { kind, take, drop: apply, advance, ...work }: DropWork<Row>,
): Promise<void> =>
  processInBatches<Row, number>(context, {
    ...work,
    loop: `drop-${kind}`,
    options: { durability: "relaxed", limitMs: BACKGROUND_LIMIT_MS },
    // A piece may go at a time.
    stateOf: () => null,
    take: async (tx, limit, now) => {
      if (await takeRetentionLock(tx)) return take(tx, limit, now);
      context.noteOtherServer?.();
      return { rows: [], more: false };
    },
    apply,
    done: (dropped) => {
      context.countDropped(kind, dropped ?? 0);
      advance?.(dropped ?? 0);
    },
  });

export type SweepWork<Prefix extends IdPrefix> = {
  environmentId: Uuid<"env">;
  kind: DroppedKind;
  /** How long those are kept, in milliseconds; null for ever. */
  keptMs: number | null;
  list: List<Prefix>;
  drop: Drop<Prefix>;
  /** Whether the page whose transaction was committed is looked at again. */
  repeats?: () => boolean;
  /** Where the sweep begins, when it does not look at everything each time. */
  fronts?: SweepFronts | undefined;
};

/**
 * Goes through the keys that were made before the time in question: what ended before it was made before it too. Those
 * that are not due are passed over, which are few, or gone with the next round.
 */
export async function sweepKeys<Prefix extends IdPrefix>(
  context: SweepContext,
  { environmentId, kind, keptMs, list, drop, repeats, fronts }: SweepWork<Prefix>,
): Promise<void> {
  if (keptMs === null) return;
  const begunAt = context.clock();
  const endedBefore = begunAt - keptMs;
  const horizon = firstUuidOf(endedBefore);
  let after = fronts?.begin(environmentId, begunAt, keptMs) ?? FIRST_KEY;
  let last: string | null = null;
  const walk = walkFrom(after);
  await dropInBatches<Uuid<Prefix>>(context, {
    kind,
    limit: PAGE,
    itemOf: (itemId) => ({ environmentId, itemId }),
    take: async (tx, limit, now) => {
      const candidates = await list(tx, { environmentId, after, horizon, endedBefore, limit });
      last = candidates.at(-1)?.id ?? null;
      const due = candidates.filter(({ isDue }) => isDue).map(({ id }) => id);
      const rows = await omitSetAside(tx, `drop-${kind}`, environmentId, due, now);
      walk.see(candidates, rows);
      // A page of rows may be of fewer keys: only an empty one is known to be the last.
      return { rows, more: last !== null };
    },
    drop: (tx, ids, now) => drop(tx, environmentId, ids, now),
    advance: () => {
      if (repeats?.() === true) return;
      after = last ?? after;
      fronts?.move(environmentId, walk.pass());
    },
  });
}

/** How far a walk through keys has left nothing behind but what is held. */
function walkFrom(first: string) {
  let [front, next] = [first, first];
  let [isStopping, isStopped] = [false, false];
  return {
    /** A page of keys in order, and those of them that are about to be dropped. */
    see: <Prefix extends IdPrefix>(page: readonly Candidate<Prefix>[], dropped: readonly Uuid<Prefix>[]) => {
      const going = new Set(dropped);
      const stop = page.findIndex(({ id, isHeld }) => isHeld !== true && !going.has(id));
      next = (stop === -1 ? page.at(-1) : page[stop - 1])?.id ?? front;
      isStopping = stop !== -1;
    },
    /** The page that was seen last is done. @returns the last key that was passed. */
    pass: (): string => {
      if (!isStopped) front = next;
      isStopped ||= isStopping;
      return front;
    },
  };
}

import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import type { DueItems, LoopItem } from "../loop-failures/loop-failure.ts";
import { processEach, processInBatches } from "../loop-failures/process-items.ts";
import { mayRemove } from "./removal-lock-reads.ts";

/** Bytes in a store: those of one environment, or the last one that had them. */
type BytesKey = { environmentId: Uuid<"env">; digest: Buffer };

export type Collected = {
  removed: number;
  /** There may be more that can go now. */
  mayHaveMore: boolean;
};

export type Removal<Key extends BytesKey> = {
  loop: string;
  /** An advisory lock of this kind of bytes. */
  lock: number;
  /** Removals that were begun and not ended: who began them had the lock, and has ended. */
  listBegun: (due: DueItems) => Promise<Key[]>;
  /** Locks bytes that may be needed by nobody. */
  take: (tx: Tx, due: DueItems) => Promise<Key[]>;
  /** Begins the removal of those that nobody needs: from the commit on they are as good as gone for everybody. */
  begin: (tx: Tx, locked: Key[], now: number) => Promise<Key[]>;
  /** Removes the bytes, then the record of their removal. */
  end: (key: Key) => Promise<void>;
};

/** Of a round. */
const BATCH = 200;

const itemOf = ({ environmentId, digest }: BytesKey): LoopItem => ({
  environmentId,
  itemId: digest.toString("hex"),
});

/**
 * Removes bytes outside of transactions, by one server at a time. A removal is never taken over by time: a server that is slow
 * could still remove what was uploaded again since. While a backup is being written, no removal begins.
 */
export async function removeAlone<Key extends BytesKey>(
  context: ItemContext,
  removal: Removal<Key>,
): Promise<Collected> {
  const { loop, lock, listBegun, end } = removal;
  const collected = await context.db.alone(lock, async (stillAlone) => {
    const left = await listBegun({ loop, limit: BATCH, now: context.clock() });
    const { begun, full } = await beginSome(context, removal);
    const removed = await processEach(context, loop, [...left, ...begun], itemOf, async (key) => {
      await stillAlone();
      await end(key);
    });
    return { removed, mayHaveMore: full || left.length === BATCH };
  });
  return collected ?? { removed: 0, mayHaveMore: false };
}

/** Begins the removals of one batch, a smaller one when a row of it throws. */
async function beginSome<Key extends BytesKey>(
  context: ItemContext,
  { loop, take, begin }: Removal<Key>,
): Promise<{ begun: Key[]; full: boolean }> {
  const batch: { begun: Key[]; full: boolean } = { begun: [], full: false };
  await processInBatches<Key, Key[]>(context, {
    loop,
    limit: BATCH,
    itemOf,
    take: async (tx, limit, now) => {
      const rows = (await mayRemove(tx)) ? await take(tx, { loop, limit, now }) : [];
      batch.full = rows.length === limit;
      return { rows, more: false };
    },
    apply: begin,
    done: (begun) => void (batch.begun = begun ?? []),
  });
  return batch;
}

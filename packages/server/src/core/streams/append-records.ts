import type { Tx } from "../../db/queryable.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Append, Inserted } from "./stream.ts";
import { insertRecords, type Appender } from "./stream-writes.ts";

/**
 * Appends to streams that have been made (`ensureStreams`, before live runs are locked), in one statement for all of them.
 * A result is null where the stream is missing, has the other direction or does not take it. What a live run writes to
 * its own session is taken whether or not that has ended. When they are input streams, the caller lets waits for their
 * records go on.
 */
export async function appendRecords(
  tx: Tx,
  appends: readonly Append[],
  by: Appender = "live_run",
): Promise<(Inserted | null)[]> {
  const inserted = await insertRecords(tx, appends, by);
  for (const [index, appended] of inserted.entries()) {
    if (appended === null) continue;
    const { streamId, firstSequence } = appended;
    tx.wake(wakeKeys.stream(streamId), firstSequence + (appends[index] as Append).records.length - 1);
  }
  return inserted;
}

import type { Tx } from "../../db/queryable.ts";
import type { NewWait, WaitKey } from "./wait.ts";
import { insertWaits, markAccepted, moveReceived } from "./wait-writes.ts";

/**
 * Writes what a report says of waits: new ones, some of which have settled already, and those that journals have
 * accepted. The runs, and the streams that input was received from, are locked.
 */
export async function recordWaits(
  tx: Tx,
  waits: readonly NewWait[],
  accepted: readonly WaitKey[],
): Promise<void> {
  if (waits.length > 0) await insertWaits(tx, waits);
  noteSettled(tx, waits);
  if (accepted.length > 0) await markAccepted(tx, accepted);
  const received = waits.flatMap(({ environmentId, streamId, recordSequence, status }) =>
    status === "resolved" && streamId !== null && recordSequence !== null
      ? [{ environmentId, streamId, sequence: recordSequence }]
      : [],
  );
  if (received.length > 0) await moveReceived(tx, received);
}

/** What was there already was waited for no time. */
function noteSettled(tx: Tx, waits: readonly NewWait[]): void {
  const settled = waits.filter(({ status }) => status !== "pending");
  const [first] = settled;
  if (first === undefined) return;
  const noted = settled.map(({ kind, at }) => ({ kind, createdAt: at }));
  tx.note({ kind: "waits", waits: noted, settledAt: first.at });
}

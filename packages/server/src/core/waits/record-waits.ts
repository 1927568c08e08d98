import type { Tx } from "../../db/queryable.ts";
import { isWaitedFor, type NewWait, type SettledWait, type WaitKey } from "./wait.ts";
import { insertWaits, markAccepted, markSettled, moveReceived, passSequencesOn } from "./wait-writes.ts";

type WaitChanges = {
  waits: readonly NewWait[];
  settled: readonly SettledWait[];
  accepted: readonly WaitKey[];
  now: number;
};

/**
 * Writes what a report says of waits: new ones, some of which have settled already, those that settle with it, and those that
 * journals have accepted. The runs, and the streams that input was received from, are locked.
 */
export async function recordWaits(tx: Tx, { waits, settled, accepted, now }: WaitChanges): Promise<void> {
  if (waits.length > 0) await insertWaits(tx, waits);
  noteSettled(tx, waits);
  if (settled.length > 0) {
    await markSettled(
      tx,
      settled.map((wait) => ({ ...wait, withoutRecord: false })),
      now,
    );
    await passSequencesOn(tx, settled);
  }
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
  const settled = waits.filter(isWaitedFor).filter(({ status }) => status !== "pending");
  const [first] = settled;
  if (first === undefined) return;
  const noted = settled.map(({ kind, at }) => ({ kind, createdAt: at }));
  tx.note({ kind: "waits", waits: noted, settledAt: first.at });
}

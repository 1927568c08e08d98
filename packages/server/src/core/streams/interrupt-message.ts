import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { settleMessageWaits } from "../waits/settle-waits.ts";
import { processEach } from "../loop-failures/process-items.ts";
import { endOpenMessages } from "./end-open-messages.ts";
import type { MessageKey } from "./message.ts";
import { findMessage, findWriter, listOverdueInterrupts, type SessionRun } from "./message-reads.ts";
import { fenceStreams, markInterrupted } from "./message-writes.ts";
import { lockStreams } from "./stream-reads.ts";

/** How long code may take to end a message, milliseconds. */
export const INTERRUPT_GRACE_MS = 10_000;

/** `interrupting`: its code has been told; `ended`: nothing of it comes any more. */
export type InterruptOutcome = "interrupting" | "ended";

type Context = { newUuid: NewUuid; now: number };

/**
 * Asks for the end of a message. What has ended stays as it is, so a late request ends no other message. Its code is told,
 * and has `INTERRUPT_GRACE_MS`. Where no worker is at it any more, it ends at once; but the run of one that spans goes on, wherever that is.
 *
 * @throws DomainError `not_found` when the session has no such message.
 */
export async function interruptMessage(
  tx: Tx,
  context: Context,
  key: MessageKey & { sessionId: Uuid<"sess"> },
): Promise<InterruptOutcome> {
  const { environmentId } = key;
  const message = await findMessage(tx, key);
  if (message === null) throw notFound();
  if (message.status !== "open") return "ended";
  // First, as everybody does who writes to a message of the stream.
  await lockStreams(tx, [{ environmentId, id: message.streamId }]);
  const open = await markInterrupted(tx, key, context.now);
  if (open === null) return "ended";
  if (open.spans) {
    await settleMessageWaits(tx, { ...key, streamId: message.streamId }, context.now);
    return "interrupting";
  }
  const workerId = await findWriter(tx, { environmentId, ...open });
  if (workerId !== null) {
    tx.wake(wakeKeys.worker(workerId));
    return "interrupting";
  }
  await endInterrupted(tx, context, { ...key, runId: open.runId });
  return "ended";
}

/** Ends a message in the place of its code, from which nothing of it is taken afterwards. */
async function endInterrupted(tx: Tx, context: Context, message: SessionRun & MessageKey): Promise<void> {
  const ended = await endOpenMessages(tx, [message], () => "interrupted", context, new Set([message.id]));
  if (ended.length === 0 && (await findMessage(tx, message))?.status === "open")
    throw new Error("The message is open, and its stream is gone.");
  await keepOutPieces(tx, ended);
}

/** From now on pieces of these streams are taken only for messages that are open. */
export async function keepOutPieces(
  tx: Tx,
  streams: readonly { environmentId: Uuid<"env">; streamId: Uuid<"strm"> }[],
): Promise<void> {
  if (streams.length > 0) await fenceStreams(tx, streams);
}

const LIMIT = 200;

/** Ends messages whose code was asked for their end and did not end them in time. */
export async function endOverdueInterrupts(context: ItemContext & { newUuid: NewUuid }): Promise<void> {
  const { db, clock, newUuid } = context;
  for (let isFull = true; isFull;) {
    const now = clock();
    const overdue = await listOverdueInterrupts(db, now - INTERRUPT_GRACE_MS, now, LIMIT);
    await processEach(
      context,
      "end-interrupted",
      overdue,
      ({ environmentId, id: itemId }) => ({ environmentId, itemId }),
      (message) => db.transaction((tx) => endInterrupted(tx, { newUuid, now: clock() }, message)),
    );
    isFull = overdue.length === LIMIT;
  }
}

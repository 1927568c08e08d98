import { encodeId, type MessageEnd } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { appendRecords } from "./append-records.ts";
import { endRecord, type OpenMessage } from "./message.ts";
import { listOpenMessages, type SessionRun } from "./message-reads.ts";
import { endMessages } from "./message-writes.ts";
import type { Append } from "./stream.ts";
import { lockStreams } from "./stream-reads.ts";

/** The append of the record that tells of a message's end, as its run would have made it. */
export const endAppend = (
  message: OpenMessage,
  status: MessageEnd,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Append => {
  const { environmentId, sessionId, name, runId, attemptNumber, id: messageId } = message;
  const source = { kind: "run", id: encodeId("run", runId), runId, attemptNumber, messageId } as const;
  const records = [endRecord(message, status, newUuid)];
  return { environmentId, sessionId, name, direction: "output", records, source, at: now };
};

/** Ends messages whose streams are locked, and tells the readers of their streams. */
async function endAll(
  tx: Tx,
  messages: readonly OpenMessage[],
  endOf: (message: OpenMessage) => MessageEnd,
  context: { newUuid: NewUuid; now: number },
): Promise<void> {
  const appended = await appendRecords(
    tx,
    messages.map((message) => endAppend(message, endOf(message), context)),
  );
  await endMessages(
    tx,
    messages.flatMap((message, index) => {
      const at = appended[index];
      if (at === null || at === undefined) return [];
      const lastSequence = at.firstSequence - 1;
      return [{ ...message, data: null, status: endOf(message), lastSequence, at: context.now }];
    }),
  );
}

/**
 * Ends messages of these runs that nobody goes on with, those of `ids` or else all. Their streams are locked before it is
 * known which are open, so that each is ended once, whoever ends others at the same time.
 */
export async function endOpenMessages(
  tx: Tx,
  runs: readonly SessionRun[],
  endOf: (message: OpenMessage) => MessageEnd,
  context: { newUuid: NewUuid; now: number },
  ids: ReadonlySet<string> | null = null,
): Promise<OpenMessage[]> {
  const ofThese = async (): Promise<OpenMessage[]> =>
    (await listOpenMessages(tx, runs)).filter(({ id }) => ids === null || ids.has(id));
  const seen = await ofThese();
  if (seen.length === 0) return [];
  await lockStreams(
    tx,
    seen.map(({ environmentId, streamId: id }) => ({ environmentId, id })),
  );
  const open = await ofThese();
  await endAll(tx, open, endOf, context);
  return open;
}

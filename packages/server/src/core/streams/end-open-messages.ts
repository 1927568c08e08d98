import { encodeId, type MessageEnd } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { appendRecords } from "./append-records.ts";
import { endRecord, type OpenMessage } from "./message.ts";
import { endMessages } from "./message-writes.ts";
import type { Append } from "./stream.ts";

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

/** Ends messages that nobody goes on with, and tells the readers of their streams. */
export async function endOpenMessages(
  tx: Tx,
  messages: readonly OpenMessage[],
  status: MessageEnd,
  context: { newUuid: NewUuid; now: number },
): Promise<void> {
  const appended = await appendRecords(
    tx,
    messages.map((message) => endAppend(message, status, context)),
  );
  await endMessages(
    tx,
    messages.flatMap(({ environmentId, id, runId }, index) => {
      const at = appended[index];
      return at === null || at === undefined
        ? []
        : [{ environmentId, id, runId, status, lastSequence: at.firstSequence - 1, at: context.now }];
    }),
  );
}

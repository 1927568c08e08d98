import type { Tx } from "../../db/queryable.ts";
import type { PendingMessage } from "./message.ts";
import { endMessages, insertMessages, insertParts, voidParts } from "./message-writes.ts";
import type { Appended } from "./stream.ts";

/**
 * Writes the beginnings, parts and ends of messages that came with appends. Those that begin come before those that end: one may do
 * both. What was not taken begins and ends nothing.
 */
export async function recordMessages(
  tx: Tx,
  messages: readonly PendingMessage[],
  appended: readonly (Appended | null)[],
  now: number,
): Promise<void> {
  const placed = messages.flatMap((message) => {
    const at = appended[message.append];
    return at === null || at === undefined ? [] : [{ message, ...at }];
  });
  await insertMessages(
    tx,
    placed.flatMap(({ message, streamId, firstSequence }) =>
      "begins" in message ? [{ ...message.begins, streamId, firstSequence }] : [],
    ),
  );
  await insertParts(
    tx,
    placed.flatMap(({ message, firstSequence }) =>
      "part" in message ? [{ ...message.part, firstSequence }] : [],
    ),
  );
  await voidParts(
    tx,
    placed.flatMap(({ message }) => ("voids" in message ? [message.voids] : [])),
  );
  await endMessages(
    tx,
    placed.flatMap(({ message, firstSequence }) =>
      "ends" in message
        ? [{ ...message.ends, status: message.status, lastSequence: firstSequence - 1, at: now }]
        : [],
    ),
  );
}

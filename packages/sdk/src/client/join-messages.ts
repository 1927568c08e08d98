import type { JsonOf } from "../json-type.ts";
import { MESSAGE_CONTENT_TYPE, type MessageEnd, type MessageStatus } from "@keelson/contract/plain";
import type { RecordOf } from "./record-appends.ts";

/** What one `pipe()` wrote, as far as its pieces have come, or a record on its own. */
export type StreamMessage<Data = unknown> = {
  /** The `messageId` of its records; the id of the record when it is on its own. */
  id: string;
  /** The data of its records so far. The same array grows with each of them. */
  pieces: JsonOf<Data>[];
  /** The pieces joined when each is a text, else null. */
  text: string | null;
  /** `open` until its end has come; a record on its own is `complete`. */
  status: MessageStatus;
  /** The first record. To get all pieces again, a reader goes on after its sequence less one. */
  first: RecordOf<Data>;
  /** The last record so far. */
  last: RecordOf<Data>;
};

/** So many messages may be written at the same time. The one that grew least recently is given up for more. */
const MAX_OPEN = 100;

/**
 * How a message has ended, where a record of its stream says so: it has the message's `messageId`, and is no piece of it. Null for all
 * other records.
 */
export function messageEndOf({ contentType, data }: RecordOf<unknown>): MessageEnd | null {
  if (contentType !== MESSAGE_CONTENT_TYPE) return null;
  const { status } = data as { status: MessageEnd };
  return status;
}

/**
 * Joins the pieces of messages: gives the message that a record belongs to, with all of its pieces so far, each time that one
 * comes, and once more when it has ended. Pieces of several messages may come in turns.
 */
export async function* joinMessages<Data>(
  records: AsyncIterable<RecordOf<Data>>,
): AsyncGenerator<StreamMessage<Data>> {
  const open = new Map<string, StreamMessage<Data>>();
  for await (const record of records) {
    const id = record.messageId ?? record.id;
    const before = open.get(id);
    const end = messageEndOf(record);
    if (end !== null) {
      open.delete(id);
      if (before !== undefined) yield { ...before, status: end };
      continue;
    }
    const piece = typeof record.data === "string" ? record.data : null;
    const text = piece === null ? null : before === undefined ? piece : join(before.text, piece);
    const pieces = before?.pieces ?? [];
    pieces.push(record.data);
    const status = record.messageId === null ? "complete" : "open";
    const message: StreamMessage<Data> = {
      ...{ id, pieces, text, status },
      first: before?.first ?? record,
      last: record,
    };
    if (record.messageId !== null) keep(open, message);
    yield message;
  }
}

const join = (text: string | null, piece: string): string | null => (text === null ? null : text + piece);

/** The newest last. */
function keep<Data>(open: Map<string, StreamMessage<Data>>, message: StreamMessage<Data>): void {
  open.delete(message.id);
  open.set(message.id, message);
  const [oldest] = open.keys();
  if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
}

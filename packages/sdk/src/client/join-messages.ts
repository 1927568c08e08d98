import type { JsonOf } from "../json-type.ts";
import type { RecordOf } from "./record-appends.ts";

/** What one `pipe()` wrote, as far as its pieces have come, or a record on its own. */
export type StreamMessage<Data = unknown> = {
  /** The `messageId` of its records; the id of the record when it is on its own. */
  id: string;
  /** The data of its records so far. The same array grows with each of them. */
  pieces: JsonOf<Data>[];
  /** The pieces joined when each is a text, else null. */
  text: string | null;
  /** The first record. To get all pieces again, a reader goes on after its sequence less one. */
  first: RecordOf<Data>;
  /** The last record so far. */
  last: RecordOf<Data>;
};

/** So many messages may be written at the same time. The one that grew least recently is given up for more. */
const MAX_OPEN = 100;

/**
 * Joins the pieces of messages: gives the message that a record belongs to, with all of its pieces so far, each time that one
 * comes. Pieces of several messages may come in turns.
 */
export async function* joinMessages<Data>(
  records: AsyncIterable<RecordOf<Data>>,
): AsyncGenerator<StreamMessage<Data>> {
  const open = new Map<string, StreamMessage<Data>>();
  for await (const record of records) {
    const id = record.messageId ?? record.id;
    const before = open.get(id);
    const piece = typeof record.data === "string" ? record.data : null;
    const text = piece === null ? null : before === undefined ? piece : join(before.text, piece);
    const pieces = before?.pieces ?? [];
    pieces.push(record.data);
    const message = { id, pieces, text, first: before?.first ?? record, last: record };
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

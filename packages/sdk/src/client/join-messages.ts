import type { JsonOf } from "../json-type.ts";
import {
  MESSAGE_CONTENT_TYPE,
  type MessageEnd,
  type MessageNews,
  type MessageStatus,
} from "@keelson/contract/plain";
import type { RecordOf } from "./record-appends.ts";

/** What one `pipe()` or `message()` wrote, as far as its pieces have come, or a record on its own. */
export type StreamMessage<Data = unknown> = {
  /** The `messageId` of its records; the id of the record when it is on its own. */
  id: string;
  /** The data of its records so far that count. The same array grows with each of them, until some of them count no more. */
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
  const news = data as MessageNews;
  return news.event === "ended" ? news.status : null;
}

/**
 * Joins the pieces of messages: gives the message that a record belongs to, with all of its pieces so far, each time that one
 * comes, and once more when it has ended. Pieces of several messages may come in turns.
 */
export async function* joinMessages<Data>(
  records: AsyncIterable<RecordOf<Data>>,
): AsyncGenerator<StreamMessage<Data>> {
  const open = new Map<string, Joined<Data>>();
  for await (const record of records) {
    const id = record.messageId ?? record.id;
    const before = open.get(id);
    open.delete(id);
    const joined =
      record.contentType === MESSAGE_CONTENT_TYPE ? hear(before, record) : add(before, id, record);
    if (joined === undefined) continue;
    const { message } = joined;
    // The newest last.
    if (message.status === "open") open.set(id, joined);
    const [oldest] = open.keys();
    if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
    if (joined !== before) yield message;
  }
}

/** A message, and where each of its pieces is in the stream. */
type Joined<Data> = { message: StreamMessage<Data>; at: number[] };

function add<Data>(before: Joined<Data> | undefined, id: string, record: RecordOf<Data>): Joined<Data> {
  const { message, at = [] } = before ?? {};
  const { data, messageId, sequence } = record;
  const { pieces = [], text = "", first = record } = message ?? {};
  pieces.push(data);
  at.push(sequence);
  return {
    message: {
      ...{ id, pieces, first, last: record, status: messageId === null ? "complete" : "open" },
      text: text === null || typeof data !== "string" ? null : text + data,
    },
    at,
  };
}

/** The end of a message, or that some of its pieces count no more. */
function hear<Data>(
  before: Joined<Data> | undefined,
  { data, sequence }: RecordOf<Data>,
): Joined<Data> | undefined {
  const news = data as MessageNews;
  if (before === undefined) return before;
  const { message, at } = before;
  if (news.event === "ended") return { message: { ...message, status: news.status }, at };
  if (news.event !== "voided") return before;
  const { from_sequence: from, to_sequence: to } = news;
  const counts = (_: unknown, index: number): boolean =>
    (at[index] as number) < from || (at[index] as number) > (to ?? sequence);
  const pieces = message.pieces.filter(counts);
  const isText = pieces.every((piece) => typeof piece === "string");
  return { message: { ...message, pieces, text: isText ? pieces.join("") : null }, at: at.filter(counts) };
}

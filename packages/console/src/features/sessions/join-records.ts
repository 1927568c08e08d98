import type { MessageEnd, MessageNews, Stream, StreamRecord } from "@keelson/contract";
import { MESSAGE_CONTENT_TYPE } from "@keelson/contract/plain";
import type { Entry } from "./conversation-order.ts";
import { readSaid } from "./record-text.ts";

/** What is shown as one thing: a record, or the pieces of one answer. A new object each time that it changes. */
export type Row = {
  /** Its first record's id. */
  key: string;
  direction: Stream["direction"];
  stream: string;
  correlationId: string | null;
  first: StreamRecord;
  last: StreamRecord;
  /** The words, when it has any; null is shown as the JSON of `first`. */
  text: string | null;
  rest: Record<string, unknown>;
  /** The data of a message's pieces that have no words, in their order. */
  others: readonly unknown[];
  /** How many records. */
  count: number;
  /** How the message has ended; null while it goes on, and where nobody says. */
  end: MessageEnd | null;
};

/** A piece of a message: its words, or its data where it has none. */
type Said = { sequence: number; text: string | null; data: unknown };

/** Rows, and which of them may go on: messages by their id, other answers by stream and correlation id. */
export type Joined = {
  rows: Row[];
  messages: Map<string, { index: number; pieces: Said[] }>;
  open: Map<string, { index: number; form: string }>;
};

export const nothingJoined = (): Joined => ({ rows: [], messages: new Map(), open: new Map() });

/**
 * Adds the rows of entries that come after all there are. The pieces of a message are one row, whatever was said elsewhere
 * meanwhile; it stands where the message began. So are texts of an output stream that are of no message and have the same
 * correlation id: another attempt, or another kind of record in between, begins a new row.
 */
export function joinEntries(joined: Joined, entries: Iterable<Entry>): void {
  for (const { record, direction } of entries) {
    if (record.content_type === MESSAGE_CONTENT_TYPE) {
      hearOfMessage(joined, record);
      continue;
    }
    const said = readSaid(record.data);
    if (record.message_id !== null) {
      joinPiece(joined, record.message_id, { record, direction, said });
      continue;
    }
    const answer =
      direction === "input" || record.correlation_id === null
        ? null
        : `${record.stream}\n${record.correlation_id}`;
    const form = said?.isPiece === true ? formOf(record, said.rest) : null;
    const open = answer === null ? undefined : joined.open.get(answer);
    const row = open === undefined ? undefined : joined.rows[open.index];
    if (said !== null && open !== undefined && row !== undefined && form === open.form) {
      joined.rows[open.index] = {
        ...row,
        last: record,
        text: `${row.text ?? ""}${said.text}`,
        count: row.count + 1,
      };
      continue;
    }
    if (answer !== null) {
      if (form === null) joined.open.delete(answer);
      else joined.open.set(answer, { index: joined.rows.length, form });
    }
    joined.rows.push(toRow(record, direction, said));
  }
}

type Piece = { record: StreamRecord; direction: Stream["direction"]; said: ReturnType<typeof readSaid> };

function joinPiece(joined: Joined, messageId: string, { record, direction, said }: Piece): void {
  const { sequence, data } = record;
  const piece = { sequence, text: said?.text ?? null, data };
  const message = joined.messages.get(messageId);
  const row = message === undefined ? undefined : joined.rows[message.index];
  if (message === undefined || row === undefined) {
    joined.messages.set(messageId, { index: joined.rows.length, pieces: [piece] });
    const others = said === null ? [data] : [];
    joined.rows.push({ ...toRow(record, direction, said), rest: {}, others });
    return;
  }
  message.pieces.push(piece);
  const others = said === null ? [...row.others, data] : row.others;
  const text = said === null ? row.text : `${row.text ?? ""}${said.text}`;
  joined.rows[message.index] = { ...row, last: record, text, others, count: row.count + 1 };
}

/** Where its pieces are not there, such as before an older page is read, there is nothing to change. */
function hearOfMessage(joined: Joined, { message_id: id, data, sequence }: StreamRecord): void {
  const message = id === null ? undefined : joined.messages.get(id);
  const row = message === undefined ? undefined : joined.rows[message.index];
  if (message === undefined || row === undefined) return;
  const news = data as MessageNews;
  if (news.event === "ended") joined.rows[message.index] = { ...row, end: news.status };
  if (news.event !== "voided") return;
  const { from_sequence: from, to_sequence: to } = news;
  message.pieces = message.pieces.filter(
    (piece) => piece.sequence < from || piece.sequence > (to ?? sequence),
  );
  joined.rows[message.index] = {
    ...row,
    text: message.pieces.map(({ text }) => text ?? "").join(""),
    others: message.pieces.flatMap((piece) => (piece.text === null ? [piece.data] : [])),
    count: message.pieces.length,
  };
}

const formOf = ({ run_id, attempt_number }: StreamRecord, rest: Record<string, unknown>): string =>
  JSON.stringify([run_id, attempt_number, rest]);

const toRow = (
  record: StreamRecord,
  direction: Stream["direction"],
  said: ReturnType<typeof readSaid>,
): Row => ({
  key: record.id,
  direction,
  stream: record.stream,
  correlationId: record.correlation_id,
  first: record,
  last: record,
  text: said?.text ?? null,
  rest: said?.rest ?? {},
  others: [],
  count: 1,
  end: null,
});

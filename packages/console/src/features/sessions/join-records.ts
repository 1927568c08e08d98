import { stopCalls } from "@keelson/contract/chat";
import type { MessageEnd, MessageNews, Stream, StreamRecord } from "@keelson/contract";
import { MESSAGE_CONTENT_TYPE } from "@keelson/contract/plain";
import { addPiece, contentOf, NO_CONTENT, type Content } from "./content.ts";
import type { Entry } from "./conversation-order.ts";
import { readSaid, type Said } from "./record-text.ts";

/** What is shown as one thing: a record, or the pieces of one answer. A new object each time that it changes. */
export type Row = Content & {
  /** Its first record's id. */
  key: string;
  direction: Stream["direction"];
  stream: string;
  correlationId: string | null;
  first: StreamRecord;
  last: StreamRecord;
  rest: Record<string, unknown>;
  /** How many records. */
  count: number;
  /** How the message has ended; null while it goes on, and where nobody says. */
  end: MessageEnd | null;
  /** Somebody has said it in another way later: an edit, or another try, of a chat. */
  isReplaced: boolean;
};

/** Rows, and which of them may go on: messages by their id, other answers by stream and correlation id. */
export type Joined = {
  rows: Row[];
  messages: Map<string, { index: number; pieces: StreamRecord[] }>;
  open: Map<string, { index: number; form: string }>;
  /** Where a stream has a question of a chat. */
  questions: Map<string, number>;
};

export const nothingJoined = (): Joined => ({
  rows: [],
  messages: new Map(),
  open: new Map(),
  questions: new Map(),
});

/**
 * Adds the rows of entries that come after all there are. The pieces of a message are one row, whatever was said elsewhere
 * meanwhile; it stands where the message began. So are texts of an output stream that are of no message and have the same
 * correlation id: another attempt, or another kind of record in between, begins a new row.
 */
export function joinEntries(joined: Joined, entries: Iterable<Entry>): void {
  for (const { record, direction } of entries) {
    if (record.content_type === MESSAGE_CONTENT_TYPE) hearOfMessage(joined, record);
    else if (record.message_id !== null) joinPiece(joined, record.message_id, record, direction);
    else joinRecord(joined, record, direction);
  }
}

function joinRecord(joined: Joined, record: StreamRecord, direction: Stream["direction"]): void {
  const said = readSaid(record.data);
  const answer =
    direction === "input" || record.correlation_id === null
      ? null
      : `${record.stream}\n${record.correlation_id}`;
  const form = said?.isPiece === true ? formOf(record, said.rest) : null;
  const open = answer === null ? undefined : joined.open.get(answer);
  const row = open === undefined ? undefined : joined.rows[open.index];
  if (said !== null && open !== undefined && row !== undefined && form === open.form) {
    const text = `${row.text ?? ""}${said.text}`;
    joined.rows[open.index] = { ...row, last: record, text, count: row.count + 1 };
    return;
  }
  if (answer !== null) {
    if (form === null) joined.open.delete(answer);
    else joined.open.set(answer, { index: joined.rows.length, form });
  }
  joined.rows.push(toRow(record, direction, contentOf(record.data, said), said));
}

function joinPiece(
  joined: Joined,
  messageId: string,
  record: StreamRecord,
  direction: Stream["direction"],
): void {
  const message = joined.messages.get(messageId);
  const row = message === undefined ? undefined : joined.rows[message.index];
  if (message === undefined || row === undefined) {
    joined.messages.set(messageId, { index: joined.rows.length, pieces: [record] });
    const begun = toRow(record, direction, addPiece(NO_CONTENT, record.data), null);
    replaceEarlier(joined, begun);
    joined.rows.push(begun);
    return;
  }
  message.pieces.push(record);
  joined.rows[message.index] = {
    ...row,
    ...addPiece(row, record.data),
    last: record,
    count: row.count + 1,
  };
}

/** A question that the stream has already takes the place of that one, and of all that the stream has after it. */
function replaceEarlier(joined: Joined, { stream, question }: Row): void {
  if (question === null) return;
  const key = `${stream}\n${question.id}`;
  const from = joined.questions.get(key) ?? joined.rows.length;
  for (let index = from; index < joined.rows.length; index += 1) {
    const row = joined.rows[index] as Row;
    if (row.stream === stream) joined.rows[index] = { ...row, isReplaced: true };
  }
  joined.questions.set(key, joined.rows.length);
}

/** Where its pieces are not there, such as before an older page is read, there is nothing to change. */
function hearOfMessage(joined: Joined, { message_id: id, data, sequence }: StreamRecord): void {
  const message = id === null ? undefined : joined.messages.get(id);
  const row = message === undefined ? undefined : joined.rows[message.index];
  if (message === undefined || row === undefined) return;
  const news = data as MessageNews;
  if (news.event === "ended") {
    const parts = news.status === "complete" ? row.parts : stopCalls(row.parts);
    joined.rows[message.index] = { ...row, parts, end: news.status };
  }
  if (news.event !== "voided") return;
  const { from_sequence: from, to_sequence: to } = news;
  message.pieces = message.pieces.filter(
    (piece) => piece.sequence < from || piece.sequence > (to ?? sequence),
  );
  const content = message.pieces.reduce((sum: Content, piece) => addPiece(sum, piece.data), NO_CONTENT);
  joined.rows[message.index] = {
    ...row,
    ...content,
    text: content.text ?? "",
    count: message.pieces.length,
  };
}

const formOf = ({ run_id, attempt_number }: StreamRecord, rest: Record<string, unknown>): string =>
  JSON.stringify([run_id, attempt_number, rest]);

const toRow = (
  record: StreamRecord,
  direction: Stream["direction"],
  content: Content,
  said: Said | null,
): Row => ({
  ...content,
  key: record.id,
  direction,
  stream: record.stream,
  correlationId: record.correlation_id,
  first: record,
  last: record,
  rest: said?.rest ?? {},
  count: 1,
  end: null,
  isReplaced: false,
});

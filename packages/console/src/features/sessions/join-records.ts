import type { MessageEnd, Stream, StreamRecord } from "@keelson/contract";
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

/** Rows, and which of them may go on: messages by their id, other answers by stream and correlation id. */
export type Joined = {
  rows: Row[];
  messages: Map<string, number>;
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
      endMessage(joined, record);
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
  const index = joined.messages.get(messageId);
  const row = index === undefined ? undefined : joined.rows[index];
  const others = said === null ? [...(row?.others ?? []), record.data] : (row?.others ?? []);
  if (index === undefined || row === undefined) {
    joined.messages.set(messageId, joined.rows.length);
    joined.rows.push({ ...toRow(record, direction, said), rest: {}, others });
    return;
  }
  const text = said === null ? row.text : `${row.text ?? ""}${said.text}`;
  joined.rows[index] = { ...row, last: record, text, others, count: row.count + 1 };
}

/** Where its pieces are not there, such as before an older page is read, there is nothing to end. */
function endMessage(joined: Joined, { message_id: id, data }: StreamRecord): void {
  const index = id === null ? undefined : joined.messages.get(id);
  const row = index === undefined ? undefined : joined.rows[index];
  if (index === undefined || row === undefined) return;
  joined.rows[index] = { ...row, end: (data as { status: MessageEnd }).status };
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

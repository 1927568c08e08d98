import type { Stream, StreamRecord } from "@keelson/contract";
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
  /** How many records. */
  count: number;
};

/** Rows, and which of them may go on, by stream and correlation id. */
export type Joined = {
  rows: Row[];
  open: Map<string, { index: number; form: string }>;
};

export const nothingJoined = (): Joined => ({ rows: [], open: new Map() });

/**
 * Adds the rows of entries that come after all there are. Texts of an output stream with the same correlation id are the
 * pieces of one answer, whatever was said elsewhere meanwhile; they stand where the answer began. Another attempt, or
 * another kind of record in between, begins a new one.
 */
export function joinEntries(joined: Joined, entries: Iterable<Entry>): void {
  for (const { record, direction } of entries) {
    const said = readSaid(record.data);
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
  count: 1,
});

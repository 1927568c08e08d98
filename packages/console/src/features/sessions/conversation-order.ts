import type { Stream, StreamRecord } from "@keelson/contract";

/**
 * The records of all streams of a session on one time axis. A stream's own order is its sequence, which servers with
 * clocks of their own may not agree with: within a stream time is taken never to go back.
 */
export type Entry = {
  record: StreamRecord;
  direction: Stream["direction"];
  /** Milliseconds; never before those of the record before it in the stream. */
  at: number;
};

/** What is said at one moment: the question before the answer, then by the stream's name. No two entries are equal. */
export function compareEntries(a: Entry, b: Entry): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.direction !== b.direction) return a.direction === "input" ? -1 : 1;
  if (a.record.stream !== b.record.stream) return a.record.stream < b.record.stream ? -1 : 1;
  return a.record.sequence - b.record.sequence;
}

/** Records of a stream that come after what is there of it, whose last stands at `after`. */
export function laterEntries(
  records: readonly StreamRecord[],
  direction: Stream["direction"],
  after: number,
): Entry[] {
  let at = after;
  return records.map((record) => {
    at = Math.max(at, Date.parse(record.created_at));
    return { record, direction, at };
  });
}

/** Records of a stream that come before what is there of it, whose first stands at `before`. */
export function earlierEntries(
  records: readonly StreamRecord[],
  direction: Stream["direction"],
  before: number,
): Entry[] {
  let at = before;
  return records
    .toReversed()
    .map((record): Entry => {
      at = Math.min(at, Date.parse(record.created_at));
      return { record, direction, at };
    })
    .toReversed();
}

/** Puts ordered entries among ordered ones. @returns from where on `into` has changed. */
export function mergeEntries(into: Entry[], added: readonly Entry[]): number {
  const [first] = added;
  if (first === undefined) return into.length;
  const from = placeOf(into, first);
  const moved = into.splice(from);
  let next = 0;
  for (const entry of added) {
    for (let held = moved[next]; held !== undefined && compareEntries(held, entry) < 0; held = moved[next]) {
      into.push(held);
      next += 1;
    }
    into.push(entry);
  }
  for (const held of moved.slice(next)) into.push(held);
  return from;
}

/** How many of them stand before the entry. What comes last usually belongs to the end. */
function placeOf(entries: readonly Entry[], entry: Entry): number {
  const last = entries.at(-1);
  if (last === undefined || compareEntries(last, entry) < 0) return entries.length;
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = entries[middle];
    if (found !== undefined && compareEntries(found, entry) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Puts a record in place of what it was. @returns whether it is among the entries. */
export function replaceEntry(entries: Entry[], record: StreamRecord): boolean {
  const at = entries.findIndex((entry) => entry.record.id === record.id);
  const entry = entries[at];
  if (entry === undefined) return false;
  entries[at] = { ...entry, record };
  return true;
}

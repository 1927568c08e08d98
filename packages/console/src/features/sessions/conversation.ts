import type { Stream, StreamRecord } from "@keelson/contract";
import {
  earlierEntries,
  laterEntries,
  mergeEntries,
  replaceEntry,
  type Entry,
} from "./conversation-order.ts";
import { joinEntries, nothingJoined, type Row } from "./join-records.ts";

type StreamName = Pick<Stream, "name" | "direction">;

/** How much of a stream is there. */
export type Held = {
  stream: string;
  direction: Stream["direction"];
  /** The first and the last sequence that is there. */
  first: number;
  last: number;
  /** Records up to this one are no longer kept by the server; 0 when all are. */
  goneUpTo: number;
};

export type ConversationView = {
  rows: readonly Row[];
  /** How many records all rows have. */
  records: number;
  held: readonly Held[];
};

/** A session's records as a page shows them, in the order in which they were said, whenever they came. */
export type Conversation = {
  /** What comes after what is there of the stream; what is there already is passed over. */
  append(stream: StreamName, records: readonly StreamRecord[]): void;
  /** What comes right before what is there of the stream. */
  prepend(stream: StreamName, records: readonly StreamRecord[]): void;
  /** What a record is now, in place of what it was. */
  replace(record: StreamRecord): void;
  /** Records up to the sequence are no longer kept. */
  noteGone(stream: StreamName, upTo: number): void;
  /** The last sequence that is there; null while nothing is. */
  lastOf(stream: StreamName): number | null;
  /** The same object until something changes. */
  view(): ConversationView;
  subscribe(listener: () => void): () => void;
};

type Part = Held & { firstAt: number; lastAt: number; isEmpty: boolean };

const emptyPart = ({ name, direction }: StreamName): Part => ({
  ...{ stream: name, direction, first: 0, last: 0, goneUpTo: 0 },
  ...{ firstAt: 0, lastAt: 0, isEmpty: true },
});

function findPart(parts: Map<string, Part>, { name, direction }: StreamName): Part {
  const found = parts.get(name);
  if (found !== undefined) return found;
  const made = emptyPart({ name, direction });
  parts.set(name, made);
  return made;
}

const toHeld = ({ stream, direction, first, last, goneUpTo }: Part): Held => ({
  ...{ stream, direction, first, last, goneUpTo },
});

export function createConversation(): Conversation {
  const entries: Entry[] = [];
  const parts = new Map<string, Part>();
  const listeners = new Set<() => void>();
  let joined = nothingJoined();
  let view: ConversationView = { rows: [], records: 0, held: [] };

  const partOf = (stream: StreamName): Part => findPart(parts, stream);
  const publish = (): void => {
    view = { rows: [...joined.rows], records: entries.length, held: [...parts.values()].map(toHeld) };
    for (const listener of listeners) listener();
  };
  const take = (added: readonly Entry[]): void => {
    const before = entries.length;
    const from = mergeEntries(entries, added);
    // Usually they belong to the end; else rows may begin elsewhere, and all are made again.
    if (from < before) joined = nothingJoined();
    joinEntries(joined, from < before ? entries : added);
    publish();
  };

  return {
    append(stream, records) {
      const part = partOf(stream);
      const fresh = records.filter(({ sequence }) => part.isEmpty || sequence > part.last);
      const added = laterEntries(fresh, stream.direction, part.lastAt);
      const [first, last] = [added[0], added.at(-1)];
      if (first === undefined || last === undefined) return;
      if (part.isEmpty) {
        part.first = first.record.sequence;
        part.firstAt = first.at;
        part.isEmpty = false;
      }
      part.last = last.record.sequence;
      part.lastAt = last.at;
      take(added);
    },
    prepend(stream, records) {
      const part = partOf(stream);
      const fresh = records.filter(({ sequence }) => sequence < part.first);
      const added = earlierEntries(fresh, stream.direction, part.firstAt);
      const [first] = added;
      if (first === undefined) return;
      part.first = first.record.sequence;
      part.firstAt = first.at;
      take(added);
    },
    replace(record) {
      if (!replaceEntry(entries, record)) return;
      joined = nothingJoined();
      joinEntries(joined, entries);
      publish();
    },
    noteGone(stream, upTo) {
      const part = partOf(stream);
      if (upTo <= part.goneUpTo) return;
      part.goneUpTo = upTo;
      publish();
    },
    lastOf: ({ name }) => {
      const part = parts.get(name);
      return part === undefined || part.isEmpty ? null : part.last;
    },
    view: () => view,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

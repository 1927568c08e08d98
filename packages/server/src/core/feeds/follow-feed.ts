import type { Wakes } from "./wakes.ts";

/** One page of a feed: its entries, the cursor after them, and the final state when the source has ended by then. */
export type FeedPage<Entry> = { entries: Entry[]; cursor: number; end: unknown };

export type Feed<Entry> = {
  /** What wakes a follower of this feed. */
  wakeKey: string;
  /** Entries after the cursor. `end` is undefined while the source lives or while there are more entries to read. */
  read(after: number): Promise<FeedPage<Entry>>;
};

export type FollowedItem<Entry> = { kind: "entries"; entries: Entry[]; cursor: number } | { kind: "end"; state: unknown; cursor: number };

/** A follower looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/**
 * Everything after the cursor, in order, without gap or repeat, until the source has ended or the signal aborts.
 * Reading is by cursor and a wake is only a hint, so neither a lost wake nor a restart can skip an entry.
 */
export async function* followFeed<Entry>(wakes: Wakes, feed: Feed<Entry>, after: number, signal: AbortSignal): AsyncGenerator<FollowedItem<Entry>> {
  let cursor = after;
  while (!signal.aborted) {
    const waiting = new AbortController();
    // Registered before the read: what is appended during it wakes this follower again.
    const woken = wakes.wait(feed.wakeKey, SAFETY_READ_MS, AbortSignal.any([signal, waiting.signal]));
    try {
      const page = await feed.read(cursor);
      if (page.entries.length > 0) {
        cursor = page.cursor;
        yield { kind: "entries", entries: page.entries, cursor };
      }
      if (page.end !== undefined) {
        yield { kind: "end", state: page.end, cursor };
        return;
      }
      if (page.entries.length === 0) await woken;
    } finally {
      waiting.abort();
    }
  }
}

import type { Wakes } from "./wakes.ts";

/**
 * One read of a feed: what came after the cursor (null when nothing), the cursor after it, and the final state once the
 * source has ended and everything has been read.
 */
export type FeedPage<Batch> = { batch: Batch | null; cursor: number; end: unknown };

export type Feed<Batch> = {
  /** What wakes a follower of this feed. */
  wakeKey: string;
  read(after: number): Promise<FeedPage<Batch>>;
};

export type FollowedItem<Batch> =
  | { kind: "batch"; batch: Batch }
  | { kind: "end"; state: unknown; cursor: number };

/** A follower looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/**
 * Everything after the cursor, in order, without gap or repeat, until the source has ended or the signal aborts.
 * Reading is by cursor and a wake is only a hint, so neither a lost wake nor a restart can skip an entry.
 */
export async function* followFeed<Batch>(
  wakes: Wakes,
  feed: Feed<Batch>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<FollowedItem<Batch>> {
  let cursor = after;
  while (!signal.aborted) {
    const waiting = new AbortController();
    // Registered before the read: what is appended during it wakes this follower again.
    const woken = wakes.wait(feed.wakeKey, SAFETY_READ_MS, AbortSignal.any([signal, waiting.signal]));
    try {
      const page = await feed.read(cursor);
      cursor = page.cursor;
      if (page.batch !== null) yield { kind: "batch", batch: page.batch };
      if (page.end !== undefined) {
        yield { kind: "end", state: page.end, cursor };
        return;
      }
      if (page.batch === null) await woken;
    } finally {
      waiting.abort();
    }
  }
}

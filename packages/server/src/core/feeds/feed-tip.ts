import type { Feed, FeedPage, Sink } from "./feed.ts";
import type { Listener, Wakes } from "./wakes.ts";

/**
 * The tip of a feed, where followers wait that have everything. One loop reads what is new and writes it to all of them: a
 * thousand followers cost one read and a thousand writes to sockets.
 */
export type FeedTip<Batch> = {
  /**
   * Resolves when the follower leaves: the feed has ended, its sink takes no more, it is elsewhere than the tip, or the
   * signal was aborted. Rejects when a read fails.
   */
  join(cursor: number, sink: Sink<Batch>, signal: AbortSignal): Promise<Left>;
};

/** `cursor`: where the follower is now. */
export type Left = { cursor: number; isFull: boolean; end: unknown };

type Follower<Batch> = {
  sink: Sink<Batch>;
  leave(left: Omit<Left, "cursor">): void;
  fail(error: unknown): void;
};

/** The tip looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/** @param onEmpty is called once, when nobody follows any more; the tip must not be joined after it. */
export function createFeedTip<Batch>(
  wakes: Wakes,
  feed: Feed<Batch>,
  from: number,
  onEmpty: () => void,
): FeedTip<Batch> {
  /** All of them are at the cursor of the tip. */
  const followers = new Set<Follower<Batch>>();
  /** Those who have read more than the tip has. */
  const overtaken: (() => void)[] = [];
  let cursor = from;
  let listener: Listener | null = null;

  const leaveAll = (left: Omit<Left, "cursor">): void => {
    for (const follower of followers) follower.leave(left);
  };

  const take = ({ batch, cursor: next, end }: FeedPage<Batch>): void => {
    cursor = next;
    for (const resolve of overtaken.splice(0)) resolve();
    if (batch !== null)
      for (const follower of followers)
        if (!follower.sink.write(batch)) follower.leave({ isFull: true, end: undefined });
    if (end !== undefined) leaveAll({ isFull: false, end });
  };

  const run = async (): Promise<void> => {
    // Heard from before the first read on: what is appended during a read causes the next.
    listener = wakes.listen(feed.wakeKey);
    try {
      while (followers.size > 0) {
        const page = await feed.read(cursor);
        take(page);
        if (page.batch === null && followers.size > 0) await listener.next(SAFETY_READ_MS);
      }
    } catch (error) {
      for (const follower of followers) follower.fail(error);
    } finally {
      for (const resolve of overtaken.splice(0)) resolve();
      listener.close();
      onEmpty();
    }
  };

  return {
    join: (at, sink, signal) => {
      const stay: Left = { cursor: at, isFull: false, end: undefined };
      // Behind the tip, the next read of its own brings it there; ahead of it, the tip is to read first.
      if (at < cursor || signal.aborted) return Promise.resolve(stay);
      if (at > cursor)
        return new Promise((resolve) => {
          overtaken.push(() => resolve(stay));
          listener?.wake();
        });
      return new Promise((resolve, reject) => {
        const forget = (): void => {
          followers.delete(follower);
          signal.removeEventListener("abort", onAbort);
        };
        const follower: Follower<Batch> = {
          sink,
          leave: (left) => {
            forget();
            resolve({ cursor, ...left });
          },
          fail: (error) => {
            forget();
            reject(error instanceof Error ? error : new Error("A feed could not be read.", { cause: error }));
          },
        };
        const onAbort = (): void => follower.leave({ isFull: false, end: undefined });
        signal.addEventListener("abort", onAbort, { once: true });
        followers.add(follower);
        if (listener === null) void run();
      });
    },
  };
}

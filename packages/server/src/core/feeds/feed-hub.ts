import type { Feed, FeedEnd, FeedPage, Sink } from "./feed.ts";
import { FeedTip, type Left } from "./feed-tip.ts";
import type { FeedWatch } from "./feed-watch.ts";
import { createSharedReads } from "./shared-reads.ts";
import type { Wakes } from "./wakes.ts";

/**
 * Everyone who follows a feed through this replica. A follower that is behind reads pages of its own, each written before
 * the next is read; one that has everything joins the others at the tip of its feed, where one read serves them all.
 */
export type FeedHub<Batch> = {
  /**
   * Writes everything after the cursor, in order, without gap or repeat, until the feed is over or the signal aborts.
   * Reading is by cursor and a wake is only a hint, so neither a lost wake nor a restart can skip an entry.
   *
   * @returns how the feed ended; null when the signal was aborted. Rejects when a read fails.
   */
  follow(feed: Feed<Batch>, after: number, sink: Sink<Batch>, signal: AbortSignal): Promise<FeedEnd | null>;
  /**
   * What was stored by this replica, from one cursor to another, as a read would give it: followers that have everything
   * before it are given it at once.
   */
  offer(feedKey: string, from: number, to: number, makeBatch: () => Batch): void;
};

export function createFeedHub<Batch>(context: { wakes: Wakes; watch: FeedWatch }): FeedHub<Batch> {
  const shareRead = createSharedReads<FeedPage<Batch>>();
  const tips = new Map<string, FeedTip<Batch>>();

  const joinTip = (feed: Feed<Batch>, at: number, sink: Sink<Batch>, signal: AbortSignal): Promise<Left> => {
    const known = tips.get(feed.key);
    if (known !== undefined) return known.join(at, sink, signal);
    const tip = new FeedTip(context, feed, at, () => tips.delete(feed.key));
    tips.set(feed.key, tip);
    const left = tip.join(at, sink, signal);
    void tip.run();
    return left;
  };

  return {
    offer: (feedKey, from, to, makeBatch) => tips.get(feedKey)?.offer(from, to, makeBatch),
    follow: async (feed, after, sink, signal) => {
      let cursor = after;
      while (!signal.aborted) {
        const from = cursor;
        const page = await shareRead(`${feed.key} ${from}`, () => feed.read(from));
        if (signal.aborted) return null;
        cursor = page.cursor;
        if (page.batch !== null) {
          const turn = sink.turn(page.batch);
          if (turn !== undefined) await turn;
          if (signal.aborted) return null;
          if (!sink.write(page.batch)) await sink.drained();
        }
        if (page.end !== undefined) return { state: page.end, cursor };
        if (page.batch !== null) continue;
        const left = await joinTip(feed, cursor, sink, signal);
        if (left.end !== undefined) return { state: left.end, cursor: left.cursor };
        cursor = left.cursor;
        if (left.isFull) await sink.drained();
      }
      return null;
    },
  };
}

import type { Feed, FeedPage, Sink } from "./feed.ts";
import type { FeedWatch } from "./feed-watch.ts";
import type { Listener, Wakes } from "./wakes.ts";

/** Why a follower leaves; `cursor` is where it is now. */
export type Left = { cursor: number; isFull: boolean; end: unknown };

type Follower<Batch> = {
  sink: Sink<Batch>;
  leave(why: Omit<Left, "cursor">): void;
  fail(error: unknown): void;
};

const ELSEWHERE = { isFull: false, end: undefined };
const FULL = { isFull: true, end: undefined };

/**
 * The tip of a feed, where followers wait that have everything. One loop reads what is new and writes it to all of them: a
 * thousand followers cost one read and a thousand writes to sockets.
 */
export class FeedTip<Batch> {
  readonly #feed: Feed<Batch>;
  readonly #listener: Listener;
  readonly #onEmpty: () => void;
  /** All of them are at the cursor. */
  readonly #followers = new Set<Follower<Batch>>();
  /** Those who have read more than the tip has. */
  readonly #overtaken: (() => void)[] = [];
  #cursor: number;
  /** Ends when followers whose turn is later were given what is before the cursor; nothing after it is written until then. */
  #written: Promise<unknown> | null = null;

  readonly #endWatch: () => void;

  /** @param onEmpty is called once, when nobody follows any more; the tip must not be joined after it. */
  constructor(
    { wakes, watch }: { wakes: Wakes; watch: FeedWatch },
    feed: Feed<Batch>,
    cursor: number,
    onEmpty: () => void,
  ) {
    this.#feed = feed;
    // Heard from before the first read on: what is appended during a read causes the next.
    const listener = wakes.listen(feed.wakeKey);
    this.#listener = listener;
    this.#endWatch = watch.watch(feed.source, () => listener.wake());
    this.#cursor = cursor;
    this.#onEmpty = onEmpty;
  }

  /**
   * Resolves when the follower leaves: the feed has ended, its sink takes no more, it is elsewhere than the tip, or the
   * signal was aborted. Rejects when a read fails.
   */
  join(at: number, sink: Sink<Batch>, signal: AbortSignal): Promise<Left> {
    const elsewhere = { cursor: at, ...ELSEWHERE };
    // Behind the tip, the next read of its own brings it there; ahead of it, the tip is to read first.
    if (at < this.#cursor || signal.aborted) return Promise.resolve(elsewhere);
    if (at > this.#cursor)
      return new Promise((resolve) => {
        this.#overtaken.push(() => resolve(elsewhere));
        this.#listener.wake();
      });
    return new Promise((resolve, reject) => {
      const forget = (): void => {
        this.#followers.delete(follower);
        signal.removeEventListener("abort", onAbort);
      };
      const follower: Follower<Batch> = {
        sink,
        leave: (why) => {
          forget();
          resolve({ cursor: this.#cursor, ...why });
        },
        fail: (error) => {
          forget();
          reject(error instanceof Error ? error : new Error("A feed could not be read.", { cause: error }));
        },
      };
      const onAbort = (): void => follower.leave(ELSEWHERE);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#followers.add(follower);
    });
  }

  /** Writes what was just stored after `from` to those who have everything before it, without reading it again. */
  offer(from: number, to: number, makeBatch: () => Batch): void {
    if (from !== this.#cursor || this.#followers.size === 0 || this.#written !== null) return;
    this.#take(from, { batch: makeBatch(), cursor: to, end: undefined });
  }

  /** Until nobody follows any more; begun once, when the first one does. */
  async run(): Promise<void> {
    try {
      while (this.#followers.size > 0) {
        const from = this.#cursor;
        const page = await this.#feed.read(from);
        // Something was offered during the read, and is on its way.
        await this.#written;
        this.#take(from, page);
        await this.#written;
        if (page.batch === null) await this.#news();
      }
    } catch (error) {
      for (const follower of this.#followers) follower.fail(error);
    } finally {
      for (const resolve of this.#overtaken.splice(0)) resolve();
      this.#endWatch();
      this.#listener.close();
      this.#onEmpty();
    }
  }

  #take(from: number, { batch, cursor, end }: FeedPage<Batch>): void {
    // Something was offered during the read: the next one begins after it.
    if (from !== this.#cursor) return;
    this.#cursor = cursor;
    for (const resolve of this.#overtaken.splice(0)) resolve();
    const later: Promise<void>[] = [];
    for (const follower of this.#followers) {
      const turn = batch === null ? undefined : follower.sink.turn(batch);
      if (turn === undefined) this.#give(follower, batch, end);
      else later.push(turn.then(() => this.#give(follower, batch, end)).catch(follower.fail));
    }
    if (later.length > 0) this.#written = Promise.all(later).then(() => (this.#written = null));
  }

  #give(follower: Follower<Batch>, batch: Batch | null, end: unknown): void {
    if (!this.#followers.has(follower)) return;
    if (batch !== null && !follower.sink.write(batch)) follower.leave(FULL);
    else if (end !== undefined) follower.leave({ isFull: false, end });
  }

  /** Resolves when there may be something to read. */
  async #news(): Promise<void> {
    while (this.#followers.size > 0) {
      const upTo = await this.#listener.next();
      // Whoever stored it is about to offer it.
      if (upTo !== Number.POSITIVE_INFINITY) await new Promise(setImmediate);
      if (upTo > this.#cursor) return;
    }
  }
}

import type { Queryable } from "../../db/queryable.ts";
import { findChangedSources, type SeenSource } from "./feed-reads.ts";
import type { FeedSource } from "./feed.ts";

/** Tells of what has changed without a wake: one may be lost with the server that was to send it. */
export type FeedWatch = {
  /**
   * @param onChange is called after the first look, because what came before it is not known, and after each change.
   * @returns ends the watch.
   */
  watch(source: FeedSource, onChange: () => void): () => void;
};

/** How often is looked: how late a follower gets what came with a wake that was lost. */
const LOOK_INTERVAL_MS = 2_000;
/** Of one statement, so that none holds a connection for long. */
const MAX_SOURCES = 5_000;

type Watched = SeenSource & { onChange: () => void };

/**
 * Looks at everything that is followed here, with one statement for all: followers of feeds in which nothing happens cost
 * next to nothing. Nobody is looked for while nobody follows.
 */
export function createFeedWatch(db: Queryable): FeedWatch {
  const watched = new Set<Watched>();
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    const all = [...watched];
    for (let from = 0; from < all.length; from += MAX_SOURCES) {
      const some = all.slice(from, from + MAX_SOURCES);
      for (const { place, state } of await findChangedSources(db, some)) {
        const one = some[place - 1] as Watched;
        one.state = state;
        one.onChange();
      }
    }
  };
  const lookLater = (): void => {
    timer = setTimeout(() => {
      // Followers of a database that is away stay; what it says when it is back is seen by the next look.
      void look()
        .catch(() => undefined)
        .finally(() => {
          timer = undefined;
          if (watched.size > 0) lookLater();
        });
    }, LOOK_INTERVAL_MS);
    timer.unref();
  };

  return {
    watch: (source, onChange) => {
      const one: Watched = { ...source, state: null, onChange };
      watched.add(one);
      if (timer === undefined) lookLater();
      return () => {
        watched.delete(one);
        if (watched.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      };
    },
  };
}

import type { Queryable } from "../db/queryable.ts";
import { readTime } from "../db/read-time.ts";
import { TICK_EVERY_MS, type Timekeeper } from "./timekeeper.ts";

/**
 * Says as long as the server runs that it has its turn, and asks PostgreSQL for the time when nobody has told it: the
 * connection that hears notifications may be away for long (a direct address that is cut off, no connection left for it)
 * while all others work, and whoever answers requests is not absent.
 *
 * @returns ends it
 */
export function startTicking(
  db: Queryable,
  timekeeper: Pick<Timekeeper, "tick" | "isDue" | "hear">,
): () => void {
  let isAsking = false;
  const ask = async (): Promise<void> => {
    isAsking = true;
    try {
      timekeeper.hear(await readTime(db, 1));
    } catch {
      // That PostgreSQL said nothing is what the timekeeper then goes by.
    } finally {
      isAsking = false;
    }
  };
  const ticking = setInterval(() => {
    timekeeper.tick();
    if (timekeeper.isDue() && !isAsking) void ask();
  }, TICK_EVERY_MS).unref();
  return () => clearInterval(ticking);
}

/**
 * How many executions to lease beyond the free slots. While runs take a moment only, a worker that asks for the next ones
 * after the last have ended stands idle for the length of a lease call; so it asks for as many more as it lately ended
 * within such a moment. With longer runs that is none: nobody else's work waits here. What waits all the same is handed back,
 * see `waiting-line.ts`.
 */
export type LeaseAhead = {
  /** An execution ended. */
  ended(): void;
  /** Slots to ask for besides the free ones. */
  slots(): number;
};

/** About what a lease call takes on a loaded server; also the longest that a run leased ahead waits here. */
const WINDOW_MS = 50;
/** More than one batch of this size makes neither the server nor the database faster. */
const MOST = 200;

export function createLeaseAhead(monotonic: () => number): LeaseAhead {
  let windowStart = monotonic();
  let inWindow = 0;
  let inLastWindow = 0;

  const advance = (): void => {
    const elapsedMs = monotonic() - windowStart;
    if (elapsedMs < WINDOW_MS) return;
    inLastWindow = elapsedMs < 2 * WINDOW_MS ? inWindow : 0;
    inWindow = 0;
    windowStart += Math.floor(elapsedMs / WINDOW_MS) * WINDOW_MS;
  };

  return {
    ended: () => {
      advance();
      inWindow += 1;
    },
    slots: () => {
      advance();
      return Math.min(MOST, Math.max(inWindow, inLastWindow));
    },
  };
}

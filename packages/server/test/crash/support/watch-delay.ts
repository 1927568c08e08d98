const INTERVAL_MS = 20;
/** Processes that take turns between a cause and its effect: agent, server, PostgreSQL, and back. */
const TURNS = 8;

/**
 * Measures how late this process is woken while something else is timed. On a machine that is busy with other work a bound
 * in milliseconds would tell about that work: each turn of a process may be that much later.
 *
 * @returns ends the watch, and gives what to allow beside the bound, in milliseconds.
 */
export function watchDelay(): () => number {
  let longestMs = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last - INTERVAL_MS);
    last = now;
  }, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    return Math.round(longestMs * TURNS);
  };
}

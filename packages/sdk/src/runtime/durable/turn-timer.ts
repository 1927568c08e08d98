/** How often this process looks whether it has its turn. */
const EVERY_MS = 5_000;

/**
 * Calls back after that much time in which this process had its turn: a process that was stopped, or whose machine slept, has
 * missed one look, however long it was away.
 *
 * @returns ends it
 */
export function afterTurns(ms: number, act: () => void): () => void {
  let leftMs = ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(
      () => {
        leftMs -= EVERY_MS;
        if (leftMs > 0) wait();
        else act();
      },
      Math.min(EVERY_MS, leftMs),
    );
  };
  wait();
  return () => clearTimeout(timer);
}

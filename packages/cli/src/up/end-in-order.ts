/** What has been started, to be stopped in the other order. */
export type Started = { name: string; stop: () => Promise<void> };

const SAID_AFTER_MS = 5_000;

/** Ends the parts, the last first, each when the one before has gone; says which one takes long, and goes on when one fails. */
export async function endInOrder(parts: readonly Started[], notice: (text: string) => void): Promise<void> {
  for (const { name, stop } of parts.toReversed()) {
    notice(`Stopping ${name}`);
    const begun = performance.now();
    const waiting = setInterval(
      () => notice(`Still stopping ${name}, for ${Math.round((performance.now() - begun) / 1000)} s`),
      SAID_AFTER_MS,
    );
    await stop().catch((error: unknown) =>
      notice(`Stopping ${name} failed: ${error instanceof Error ? error.message : String(error)}`),
    );
    clearInterval(waiting);
  }
}

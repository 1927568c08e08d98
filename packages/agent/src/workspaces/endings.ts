/** Why a workspace is not held any more, besides a stop and what went wrong with it. */

/** Another worker has it now, or none. */
export class Lost extends Error {
  override readonly name = "Lost";
}
/** The agent ends at once; its next process may go on with what is there. */
export class Abandoned extends Error {
  override readonly name = "Abandoned";
}
export class StoppedEarly extends Error {
  override readonly name = "StoppedEarly";
}

const ENDED = "The supervisor of the workspace ended, and its processes ended with it.";

export class SupervisorLost extends Error {
  override readonly name = "SupervisorLost";
  /** For callers, when what had changed was committed. */
  static readonly SAVED = `${ENDED} What had changed is in the last version.`;

  constructor() {
    super(
      `${ENDED} What had changed since the last version is lost; the next materialization begins with that version.`,
    );
  }
}

/** Rejects with the signal's reason. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const cut = (): void => reject(signal.reason as Error);
    if (signal.aborted) cut();
    signal.addEventListener("abort", cut, { once: true });
  });

/**
 * Resolves when a stop is asked for.
 *
 * @throws the reason of `over`; SupervisorLost when one of `lost` resolves first.
 */
export async function untilStopped(
  asked: Promise<unknown>,
  { over, lost }: { over: AbortSignal; lost: readonly Promise<unknown>[] },
): Promise<void> {
  const broken = Promise.race(lost).then(() => {
    over.throwIfAborted();
    throw new SupervisorLost();
  });
  await Promise.race([asked, aborted(over), broken]);
}

import type { Logger } from "pino";

/** Work that only the passing of time causes. */
export type LoopWork = { name: string; intervalMs: number; run(): Promise<void> };

export type Loop = { stop(): Promise<void> };

const MAX_BACKOFF_MS = 10_000;

/**
 * Runs work at an interval, jittered so that replicas spread out. Rounds never overlap; a failed round is logged and the
 * next ones come more slowly until one succeeds.
 */
export function startLoop(work: LoopWork, log: Logger, random: () => number): Loop {
  let stopped = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  const schedule = (): void => {
    if (stopped) return;
    const delayMs =
      failures === 0 ? work.intervalMs : Math.min(MAX_BACKOFF_MS, work.intervalMs * 2 ** failures);
    timer = setTimeout(
      () => {
        round = runOnce();
      },
      delayMs * (0.9 + random() * 0.2),
    );
  };

  const runOnce = async (): Promise<void> => {
    try {
      await work.run();
      failures = 0;
    } catch (error) {
      failures = Math.min(failures + 1, 10);
      log.warn({ err: error, loop: work.name, failures }, "loop round failed");
    }
    schedule();
  };

  schedule();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Wakes } from "../core/feeds/wakes.ts";

/** Work that only the passing of time causes, or whose first try may have been lost with a process. */
export type LoopWork = {
  name: string;
  intervalMs: number;
  /** A wake of this key begins the next round at once. */
  wakeKey?: string;
  /** @returns milliseconds until the next round when that is sooner than the interval. */
  run(): Promise<number | void>;
};

export type Loop = { stop(): Promise<void> };

const MAX_BACKOFF_MS = 10_000;
/** No round takes longer; one that did would only come again at its interval. */
const MAX_LISTEN_MS = 60_000;

/**
 * Runs work at an interval, jittered so that replicas spread out. Rounds never overlap; a failed round is logged and the
 * next ones come more slowly until one succeeds.
 */
export function startLoop(work: LoopWork, wakes: Wakes, log: Logger, random: () => number): Loop {
  const stopping = new AbortController();
  const { signal } = stopping;

  const pause = async (delayMs: number): Promise<void> => {
    if (work.wakeKey !== undefined) await wakes.wait(work.wakeKey, delayMs, signal);
    // Aborted only by the stop, which the loop looks for itself.
    else await sleep(delayMs, undefined, { signal }).catch(() => undefined);
  };

  // Listens before the round begins: a wake during it begins the next one at once.
  const runRound = async (): Promise<number | null> => {
    const round = new AbortController();
    const woken =
      work.wakeKey === undefined
        ? false
        : wakes.wait(work.wakeKey, MAX_LISTEN_MS, AbortSignal.any([signal, round.signal]));
    try {
      const soonMs = (await work.run()) ?? null;
      round.abort();
      return (await woken) ? 0 : soonMs;
    } finally {
      round.abort();
    }
  };

  const loop = async (): Promise<void> => {
    let failures = 0;
    let soonMs: number | null = null;
    while (!signal.aborted) {
      const intervalMs = work.intervalMs * (0.9 + random() * 0.2);
      await pause(
        failures > 0
          ? Math.min(MAX_BACKOFF_MS, intervalMs * 2 ** failures)
          : Math.min(intervalMs, soonMs ?? intervalMs),
      );
      if (signal.aborted) return;
      try {
        soonMs = await runRound();
        failures = 0;
      } catch (error) {
        soonMs = null;
        failures = Math.min(failures + 1, 10);
        log.warn({ err: error, loop: work.name, failures }, "loop round failed");
      }
    }
  };

  const ended = loop();
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

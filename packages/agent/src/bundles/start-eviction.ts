import { evictBundles, type EvictionContext } from "./evict-bundles.ts";

export type EvictionOptions = Omit<EvictionContext, "freed">;

export type Eviction = {
  /** So much was downloaded. */
  added(bytes: number): void;
  /** What was downloaded is in folders of bundles now, or a bundle is used no more. */
  settled(): void;
  /** Resolves when nothing is being evicted any more. */
  close(): Promise<void>;
};

/** What is too old is looked for this often. */
const INTERVAL_MS = 3_600_000;

/** Evicts bundles now, as soon as downloads have filled the cache, and every hour; one round at a time. */
export function startEviction(options: EvictionOptions): Eviction {
  const context: EvictionContext = { ...options, freed: new Set() };
  let room = 0;
  let added = 0;
  const closed = new AbortController();
  let isAsked = false;
  let running: Promise<void> | null = null;

  const sweep = async (): Promise<void> => {
    while (isAsked && !closed.signal.aborted) {
      isAsked = false;
      try {
        added = 0;
        room = (await evictBundles(context)) - added;
      } catch (err) {
        context.logger.warn({ err }, "bundles could not be evicted from the cache; trying again later");
      }
    }
    running = null;
  };
  const ask = (): void => {
    isAsked = true;
    running ??= sweep();
  };
  const timer = setInterval(ask, INTERVAL_MS).unref();
  ask();

  return {
    added: (bytes) => {
      added += bytes;
      room -= bytes;
    },
    settled: () => {
      if (room < 0 && !closed.signal.aborted) ask();
    },
    close: async () => {
      closed.abort();
      clearInterval(timer);
      await running;
    },
  };
}

import { startChild } from "./child.ts";

/** Readers of one event stream, whose events carry the instant at which they were caused. */
export type SseReaders = {
  port: number;
  path: string;
  headers: Record<string, string>;
  readers: number;
  /** Events that each reader must get before it leaves. */
  events: number;
};

/** From the instant in an event to its arrival, over all readers and events. */
export type SseLatencies = { p50Ms: number; p99Ms: number; events: number };

/**
 * Opens the readers in a process of their own. `opened` resolves when all are answered, `finished` when each has had all
 * its events.
 */
export function startSseReaders(readers: SseReaders) {
  const child = startChild(new URL("./sse-readers-process.ts", import.meta.url));
  const opened = child.ask<string>(readers, 30_000).then(() => undefined);
  return {
    opened,
    finished: async (timeoutMs: number): Promise<SseLatencies> => {
      await opened;
      return child.next<SseLatencies>(timeoutMs);
    },
    stop: () => child.stop(),
  };
}

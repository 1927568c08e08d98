import type { RunEvent } from "@keelson/contract";

/** Events of a run that were heard, oldest first, each once. The oldest are let go past a number of them. */
export type RunEvents = {
  readonly all: readonly RunEvent[];
  /** How many were let go, or are no longer kept by the server. */
  readonly dropped: number;
  add(events: readonly RunEvent[]): void;
  /** The server has those from here on. */
  skipTo(earliestCursor: string | null): void;
  readonly subscribe: (listener: () => void) => () => void;
  readonly version: () => number;
};

export const MAX_EVENTS = 100_000;

export function createRunEvents(maxEvents = MAX_EVENTS): RunEvents {
  let all: RunEvent[] = [];
  let last = 0;
  let dropped = 0;
  let version = 0;
  const listeners = new Set<() => void>();
  const changed = (): void => {
    version += 1;
    for (const listener of listeners) listener();
  };
  return {
    get all() {
      return all;
    },
    get dropped() {
      return dropped;
    },
    add(events) {
      for (const event of events) {
        const sequence = Number(event.id);
        if (sequence <= last) continue;
        last = sequence;
        all.push(event);
      }
      // In large steps: each one copies what stays.
      if (all.length > maxEvents + maxEvents / 10) {
        dropped += all.length - maxEvents;
        all = all.slice(-maxEvents);
      }
      changed();
    },
    skipTo(earliestCursor) {
      const next = Number(earliestCursor ?? "0");
      if (next <= last) return;
      dropped += next - last;
      last = next;
      changed();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    version: () => version,
  };
}

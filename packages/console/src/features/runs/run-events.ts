import type { RunEvent } from "@keelson/contract";
import { createChanges, type Changes } from "./changes.ts";

/** Events of a run that were heard, oldest first, each once. The oldest are let go past a number of them. */
export type RunEvents = Changes & {
  readonly all: readonly RunEvent[];
  /** How many were let go, or are no longer kept by the server. */
  readonly dropped: number;
  add(events: readonly RunEvent[]): void;
  /** The server has those from here on. */
  skipTo(earliestCursor: string | null): void;
};

export const MAX_EVENTS = 100_000;

export function createRunEvents(maxEvents = MAX_EVENTS): RunEvents {
  let all: RunEvent[] = [];
  let last = 0;
  let dropped = 0;
  const { changed, ...changes } = createChanges();
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
    ...changes,
  };
}

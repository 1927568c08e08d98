import type { RunEvent } from "@keelson/contract";
import { createChanges, type Changes } from "./changes.ts";

/**
 * Events of a run that were heard, oldest first, each once. Past a number of them the oldest are let go, but what moved
 * the run from one state to another stays: the time line would not know what it is in.
 */
export type RunEvents = Changes & {
  readonly all: readonly RunEvent[];
  /** How many were let go, or are no longer kept by the server. */
  readonly dropped: number;
  add(events: readonly RunEvent[]): void;
  /** The server has those from here on. */
  skipTo(earliestCursor: string | null): void;
};

const MAX_EVENTS = 20_000;
const STATES = /^(run|lease)\./;

/** Without so many of the oldest, of those that are about no state. */
function withoutOldest(events: readonly RunEvent[], count: number): RunEvent[] {
  let gone = 0;
  return events.filter(({ kind }) => STATES.test(kind) || (gone += 1) > count);
}

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
        const before = all.length;
        all = withoutOldest(all, before - maxEvents).slice(-maxEvents);
        dropped += before - all.length;
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

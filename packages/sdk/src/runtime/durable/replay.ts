import type { JournalEntry, JournalKind, WaitState } from "@keelson/contract";

/** The code does not make the calls that the journal says it made. */
export class NondeterministicReplayError extends Error {
  override readonly name = "NondeterministicReplayError";
}

const HINT =
  "A durable run makes the same calls in the same order each time: take times and random values from now(), random() and uuid(), and read what may differ inside a step.";

/** What is known of a position before its call is made: its outcome, or the wait that it made. */
export type Known = { entry: JournalEntry } | { wait: WaitState } | null;

export type Replay = {
  /** Throws `NondeterministicReplayError` when the call is another than the one that the server knows. */
  find(position: number, kind: JournalKind, name: string): Known;
  /** Whether a call that the server knows has this position or a later one: the code has been here before. */
  reaches(position: number): boolean;
  /** Throws for the first entry that code which made the calls before `next` has not asked for. */
  checkAllAsked(next: number): void;
};

/** `name` of a token's entry is the server's own. */
const sameName = (kind: JournalKind, journaled: string, asked: string): boolean =>
  kind === "token" || journaled === asked;

export function createReplay(journal: readonly JournalEntry[], waits: readonly WaitState[]): Replay {
  const entries = new Map(journal.map((entry) => [entry.position, entry]));
  const open = new Map(waits.map((wait) => [wait.position, wait]));
  const last = Math.max(0, ...entries.keys(), ...open.keys());
  return {
    find(position, kind, name) {
      const entry = entries.get(position);
      const wait = open.get(position);
      const recorded = entry ?? (wait && { kind: "wait" as const, name: wait.name });
      if (recorded === undefined) return null;
      if (recorded.kind !== kind || !sameName(kind, recorded.name, name)) {
        throw new NondeterministicReplayError(
          `The code does not fit the run's journal at position ${position}: the journal has ${recorded.kind} "${recorded.name}", the code asked for ${kind} "${name}". ${HINT}`,
        );
      }
      return entry === undefined ? { wait: wait as WaitState } : { entry };
    },
    reaches: (position) => position <= last,
    checkAllAsked(next) {
      const left = journal.find(({ position }) => position >= next);
      if (left === undefined) return;
      throw new NondeterministicReplayError(
        `The code ended before position ${left.position}, where the run's journal has ${left.kind} "${left.name}". ${HINT}`,
      );
    },
  };
}

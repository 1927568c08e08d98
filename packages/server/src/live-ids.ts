import type { Clock } from "./clock.ts";
import { firstUuidOf } from "./uuid.ts";

/** Which rows of a kind may live: those with an id from `since` on, and of the older ones these. */
export type Among = { since: string; older: readonly string[] };

/**
 * Which rows of a kind live, while a transaction holds an old snapshot of the database. PostgreSQL then removes no dead index
 * entries, and whoever looks for the few rows that live steps over all that ever did. Their ids increase with time, so a look
 * can begin where the older ones are known.
 */
export type LiveIds = {
  /** @param isHeld whether dead rows cannot be removed; nothing is known otherwise */
  hold(isHeld: boolean): void;
  /** Looks which live. Every few seconds, so that what is not known yet stays little. */
  look(): Promise<void>;
  /** Null while it is not known: any may live. */
  all(): Among | null;
  /** Of those of one group. */
  of(group: string): Among | null;
};

export type LiveRow = { group: string; id: string };

export type LiveIdsOptions = {
  clock: Clock;
  /** The rows that live, with an id before that one, and `among` these where it is not null. */
  list: (before: string, among: Among | null) => Promise<LiveRow[]>;
};

/** A row whose commit comes this long after its id, or whose server's clock is behind by this, is still found at once. */
const SLACK_MS = 10_000;
/** Between looks at all rows, which find what was committed later than that, and the share of the time that they may take. */
const COMPLETE_MS = 30_000;
const COMPLETE_SHARE = 0.01;
/** With more older ones, the dead are not what a look costs. */
const MOST_OLDER = 5_000;

export function createLiveIds({ clock, list }: LiveIdsOptions): LiveIds {
  let isHeld = false;
  let known: { all: Among; groups: ReadonlyMap<string, readonly string[]> } | null = null;
  let completeAt = 0;
  return {
    hold: (held) => {
      if (held === isHeld) return;
      isHeld = held;
      known = null;
      completeAt = 0;
    },
    look: async () => {
      if (!isHeld) return;
      const begun = performance.now();
      const isComplete = begun >= completeAt;
      if (known === null && !isComplete) return;
      const since = firstUuidOf(clock() - SLACK_MS);
      const rows = await list(since, isComplete || known === null ? null : known.all);
      const ended = performance.now();
      if (isComplete) completeAt = ended + Math.max(COMPLETE_MS, (ended - begun) / COMPLETE_SHARE);
      // It may have been released meanwhile.
      known = isHeld && rows.length <= MOST_OLDER ? toKnown(since, rows) : null;
    },
    all: () => known?.all ?? null,
    of: (group) => (known === null ? null : { since: known.all.since, older: known.groups.get(group) ?? [] }),
  };
}

function toKnown(since: string, rows: readonly LiveRow[]) {
  const groups = new Map<string, string[]>();
  for (const { group, id } of rows) {
    const ids = groups.get(group) ?? [];
    groups.set(group, ids);
    ids.push(id);
  }
  return { all: { since, older: rows.map(({ id }) => id) }, groups };
}

import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import { createBatcher } from "../../db/batcher.ts";
import type { Queryable } from "../../db/queryable.ts";
import { hasRoom } from "./quota.ts";

/** What environments have of something that a quota limits: one read for many requests, and what came since it. */
export type SharedUses = {
  /** Whether there is room for `more`, which is then counted. A promise when the database must be asked. */
  take(environmentId: Uuid<"env">, more: Taken): boolean | Promise<boolean>;
  /** The same in an open transaction, which reads by itself: it waits for no other connection. */
  takeWithin(db: Queryable, environmentId: Uuid<"env">, more: Taken): boolean | Promise<boolean>;
  /** What was taken as `pending` is stored now, or will not be. */
  settle(environmentId: Uuid<"env">): void;
  /** Counts what has come or gone, whether or not there is room. */
  note(environmentId: Uuid<"env">, count: number): void;
  /** What is known at the moment. */
  known(environmentId: Uuid<"env">): { limit: number; used: number };
};

/**
 * - `pending`: one, which counts until it is settled, whatever is read meanwhile
 * - `stored`: one, which a read that begins before its commit forgets until the next one
 * - `nothing`: only asks
 */
export type Taken = "pending" | "stored" | "nothing";

type Use = { environmentId: Uuid<"env">; limit: number | null; used: number };

export type SharedUsesOptions = {
  db: Queryable;
  clock: Clock;
  limitByDefault: number;
  /** How long a read is good. Then it is made again beside the requests, and a while later before them. */
  trustedMs: () => number;
  list(db: Queryable, environmentIds: readonly Uuid<"env">[], limitByDefault: number): Promise<Use[]>;
};

type Known = {
  limit: number;
  used: number;
  readAt: number;
  /** Stored since the last read began. */
  since: number;
  pending: number;
  refreshing: boolean;
};

const MAX_KNOWN = 10_000;
/** Older reads are made again before the request goes on. */
const MAX_AGE_READS = 5;
/** A request that would be refused asks again, but not more often than this. */
const REFUSAL_TRUSTED_MS = 100;

export function createSharedUses(options: SharedUsesOptions): SharedUses {
  const { clock, limitByDefault } = options;
  const entries = new Map<Uuid<"env">, Known>();

  const batcher = createBatcher<Uuid<"env">, void>({
    maxItems: 500,
    maxInFlight: 1,
    run: async (environmentIds) => {
      await readUses(options, entries, options.db, [...new Set(environmentIds)]);
      return environmentIds.map(() => ({ ok: true, value: undefined }));
    },
  });

  const refreshBeside = (environmentId: Uuid<"env">, entry: Known): void => {
    if (entry.refreshing) return;
    entry.refreshing = true;
    // What cannot be read now is read before a later request, which is then told why.
    batcher.submit(environmentId).catch(() => {
      entry.refreshing = false;
    });
  };

  /** Null when the database must be asked. */
  const takeKnown = (environmentId: Uuid<"env">, more: Taken): boolean | null => {
    const entry = entries.get(environmentId);
    if (entry === undefined) return null;
    const age = clock() - entry.readAt;
    const trustedMs = options.trustedMs();
    // Also read in a future that a clock set back has taken away.
    if (age < 0 || age > trustedMs * MAX_AGE_READS) return null;
    if (age > trustedMs) refreshBeside(environmentId, entry);
    if (count(entry, more)) return true;
    // What was stored while it was read may be counted twice: only what was read refuses by itself.
    return age > REFUSAL_TRUSTED_MS || hasRoom(entry.limit, entry.used) ? null : false;
  };

  const takeRead = (environmentId: Uuid<"env">, more: Taken): boolean => {
    const entry = entries.get(environmentId);
    return entry === undefined || count(entry, more);
  };

  return {
    take: (environmentId, more) =>
      takeKnown(environmentId, more) ??
      batcher.submit(environmentId).then(() => takeRead(environmentId, more)),
    takeWithin: (db, environmentId, more) =>
      takeKnown(environmentId, more) ??
      readUses(options, entries, db, [environmentId]).then(() => takeRead(environmentId, more)),
    settle: (environmentId) => {
      const entry = entries.get(environmentId);
      if (entry === undefined || entry.pending === 0) return;
      entry.pending -= 1;
      entry.since += 1;
    },
    note: (environmentId, more) => {
      const entry = entries.get(environmentId);
      if (entry !== undefined) entry.since += more;
    },
    known: (environmentId) => {
      const entry = entries.get(environmentId);
      return entry === undefined
        ? { limit: limitByDefault, used: 0 }
        : { limit: entry.limit, used: usedOf(entry) };
    },
  };
}

const usedOf = ({ used, since, pending }: Known): number => used + since + pending;

function count(entry: Known, more: Taken): boolean {
  if (!hasRoom(entry.limit, usedOf(entry))) return false;
  if (more === "pending") entry.pending += 1;
  else if (more === "stored") entry.since += 1;
  return true;
}

/** What was stored before the read began is in it. */
async function readUses(
  { clock, limitByDefault, list }: SharedUsesOptions,
  entries: Map<Uuid<"env">, Known>,
  db: Queryable,
  environmentIds: readonly Uuid<"env">[],
): Promise<void> {
  const readAt = clock();
  const before = new Map(environmentIds.map((id) => [id, entries.get(id)?.since ?? 0]));
  for (const { environmentId, limit, used } of await list(db, environmentIds, limitByDefault)) {
    const known = entries.get(environmentId);
    if (known === undefined && entries.size >= MAX_KNOWN) entries.clear();
    const entry = known ?? { since: 0, pending: 0 };
    const since = Math.max(0, entry.since - (before.get(environmentId) ?? 0));
    const facts = { limit: limit ?? limitByDefault, used, readAt, since, refreshing: false };
    entries.set(environmentId, Object.assign(entry, facts));
  }
}

import type { Clock } from "../../clock.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rateState, windowEnd, type RatePolicy, type RateState } from "./rate.ts";
import { addRateCounts } from "./rate-writes.ts";

/**
 * Counts calls in memory, so that no request waits for the database; what the servers have counted is added up in the
 * background. A server that has used a quarter of what it knew to be left asks at once: callers that spread over servers
 * get a little more than their limit, for as long as one such exchange takes.
 */
export type RateCounters = {
  /** Counts a call of `who`, unless it is one too many. */
  take(policy: RatePolicy, who: string): RateState;
  /** Exchanges counts with the other servers, in one statement. */
  sync(db: Queryable): Promise<void>;
  /** Callers that are held in memory. */
  size(): number;
};

type Counter = {
  name: string;
  limit: number;
  endsAt: number;
  /** What all servers have written. */
  total: number;
  /** Counted here and not written yet. */
  unwritten: number;
};

/** A counter is replaced at its caller's first call in another window; of too many, the oldest are forgotten. */
const MAX_COUNTERS = 50_000;
const MAX_SYNCED = 5_000;
/** Who has used less of the limit than this here is nobody else's business: most callers never reach the database. */
const UNWRITTEN_SHARE = 0.05;
const URGENT_SHARE = 0.25;

/** @param onUrgent asks for an exchange at once. */
export function createRateCounters(
  clock: Clock,
  onUrgent: () => void,
  maxCounters: number = MAX_COUNTERS,
): RateCounters {
  const counters = new Map<string, Counter>();
  const changed = new Set<Counter>();

  const open = (name: string, limit: number, endsAt: number): Counter => {
    const counter = { name, limit, endsAt, total: 0, unwritten: 0 };
    if (counters.size >= maxCounters) {
      const [oldest] = counters.keys();
      if (oldest !== undefined) counters.delete(oldest);
    }
    counters.set(name, counter);
    return counter;
  };

  const sync = async (db: Queryable): Promise<void> => {
    const now = clock();
    for (const counter of changed) if (counter.endsAt <= now) changed.delete(counter);
    const written = [...changed].slice(0, MAX_SYNCED);
    if (written.length === 0) return;
    const deltas = written.map(({ name, endsAt, unwritten }) => ({ name, endsAt, count: unwritten }));
    const totals = await addRateCounts(db, deltas);
    for (const [index, counter] of written.entries()) {
      counter.total = totals[index] as number;
      counter.unwritten -= (deltas[index] as (typeof deltas)[number]).count;
      if (counter.unwritten === 0) changed.delete(counter);
    }
  };

  return {
    take: (policy, who) => {
      const now = clock();
      const name = `${policy.name} ${who}`;
      const endsAt = windowEnd(policy, now);
      let counter = counters.get(name);
      if (counter === undefined || counter.endsAt !== endsAt) {
        // Put at the end: the first one is the oldest.
        counters.delete(name);
        counter = open(name, policy.limit, endsAt);
      }
      const used = counter.total + counter.unwritten;
      if (used >= policy.limit) return rateState(policy, { allowed: false, used }, endsAt - now);
      counter.unwritten += 1;
      if (counter.unwritten >= policy.limit * UNWRITTEN_SHARE) changed.add(counter);
      if (counter.unwritten >= (policy.limit - counter.total) * URGENT_SHARE) onUrgent();
      return rateState(policy, { allowed: true, used: used + 1 }, endsAt - now);
    },
    sync,
    size: () => counters.size,
  };
}

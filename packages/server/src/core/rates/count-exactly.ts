import type { Clock } from "../../clock.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rateState, windowEnd, type RatePolicy, type RateState } from "./rate.ts";
import { countOne } from "./rate-writes.ts";

/** Counts a call of `who` in the database, so that all servers together take no more than the limit. */
export type CountExactly = (policy: RatePolicy, who: string) => Promise<RateState>;

const MAX_HELD = 10_000;

/** A window that is known to be used up is refused from memory: whoever goes on costs the database nothing. */
export function createExactCount(db: Queryable, clock: Clock): CountExactly {
  const usedUp = new Map<string, number>();
  return async (policy, who) => {
    const name = `${policy.name} ${who}`;
    const now = clock();
    const endsAt = windowEnd(policy, now);
    if (usedUp.get(name) === endsAt)
      return rateState(policy, { allowed: false, used: policy.limit }, endsAt - now);
    const count = await countOne(db, name, endsAt, policy.limit);
    if (count === null) {
      if (usedUp.size >= MAX_HELD) usedUp.clear();
      usedUp.set(name, endsAt);
    }
    return rateState(policy, { allowed: count !== null, used: count ?? policy.limit }, endsAt - now);
  };
}

import type { Queryable } from "../../db/queryable.ts";
import { countOne } from "./rate-writes.ts";
import { windowEnd, type RatePolicy } from "./rate.ts";

/** Counts one of `who`, exactly over all servers; false, and not counted, when it is one too many. */
export async function takeOne(db: Queryable, policy: RatePolicy, who: string, now: number): Promise<boolean> {
  return (await countOne(db, `${policy.name} ${who}`, windowEnd(policy, now), policy.limit)) !== null;
}

import type { Clock } from "../clock.ts";
import type { RateCounters } from "../core/rates/rate-counters.ts";
import { deleteEndedRates } from "../core/rates/rate-writes.ts";
import type { Database } from "../db/pool.ts";
import { wakeKeys } from "../core/feeds/wake-keys.ts";
import type { LoopWork } from "./loop.ts";

/** Exchanges what the servers have counted, and removes the counts of windows that are over. */
export const rateLoops = (
  { db, clock }: { db: Database; clock: Clock },
  counters: RateCounters,
): LoopWork[] => [
  {
    name: "sync-rates",
    intervalMs: 500,
    wakeKey: wakeKeys.rates,
    run: () => counters.sync(db),
  },
  { name: "purge-rates", intervalMs: 60_000, run: () => deleteEndedRates(db, clock()) },
];

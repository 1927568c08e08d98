import type { Clock } from "../clock.ts";
import { deleteStaleLoopFailures } from "../core/loop-failures/loop-failure-writes.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

/** The slowest loop looks every ten minutes: what it has not failed again within this time is gone or processed. */
const STALE_AFTER_MS = 3_600_000;

/** Forgets failed items that are gone, or that something else than their loop has processed. */
export const failureLoops = ({ db, clock }: { db: Database; clock: Clock }): LoopWork[] => [
  {
    name: "forget-loop-failures",
    intervalMs: 60_000,
    run: () => deleteStaleLoopFailures(db, clock() - STALE_AFTER_MS),
  },
];

import type { Clock } from "../clock.ts";
import { dropGoneWorkers, dropOldLeaseRequests, finishDrains } from "../core/workers/tidy-workers.ts";
import { hasIdleDraining } from "../core/workers/worker-reads.ts";
import type { Database } from "../db/pool.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

/** What becomes of workers that say nothing more. */
export const workerLoops = ({ db, clock }: { db: Database; clock: Clock }): LoopWork[] => [
  {
    name: "finish-drains",
    intervalMs: SAFEGUARD_MS,
    due: hasIdleDraining,
    run: () => finishDrains(db, clock()),
  },
  {
    name: "drop-gone-workers",
    intervalMs: 60_000,
    needs: "settled-time",
    run: () => dropGoneWorkers(db, clock()),
  },
  {
    name: "drop-old-lease-requests",
    intervalMs: 60_000,
    run: () => dropOldLeaseRequests(db),
  },
];

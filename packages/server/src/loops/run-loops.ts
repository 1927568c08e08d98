import type { Clock } from "../clock.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";
import type { Database } from "../db/pool.ts";
import type { Tx } from "../db/queryable.ts";
import { hasDue, hasExpired, hasOverdue, SWEEP_LIMIT } from "../core/executions/execution-reads.ts";
import { wakeSettled, type Settled } from "../core/executions/settle-changes.ts";
import { vacuumExecutions } from "../core/executions/vacuum-executions.ts";
import {
  OVERRUN_GRACE_MS,
  sweepDue,
  sweepExpired,
  sweepLeases,
} from "../core/executions/sweep-executions.ts";
import type { Wakes } from "../core/feeds/wakes.ts";

export type RunLoopContext = { db: Database; clock: Clock; wakes: Wakes; random: () => number };

const VACUUM_INTERVAL_MS = 3_000;

/** The loops that move runs when only time has passed. Every replica runs them; rows are taken with SKIP LOCKED. */
export function runLoops({ db, clock, wakes, random }: RunLoopContext): LoopWork[] {
  // A full round means that there may be more: it goes on at once, so that a mass of due runs does not trickle.
  const untilDone = async (sweep: (tx: Tx) => Promise<Settled>): Promise<void> => {
    for (;;) {
      const settled = await db.transaction(sweep);
      wakeSettled(wakes, settled);
      if (settled.runIds.length < SWEEP_LIMIT) return;
    }
  };
  return [
    {
      name: "sweep-due",
      intervalMs: SAFEGUARD_MS,
      due: hasDue,
      run: () => untilDone((tx) => sweepDue(tx, clock())),
    },
    {
      name: "sweep-leases",
      intervalMs: SAFEGUARD_MS,
      due: (now) => hasOverdue(now, OVERRUN_GRACE_MS),
      run: () => untilDone((tx) => sweepLeases(tx, clock(), random)),
    },
    {
      name: "sweep-expired",
      intervalMs: SAFEGUARD_MS,
      due: hasExpired,
      run: () => untilDone((tx) => sweepExpired(tx, clock())),
    },
    {
      name: "vacuum-executions",
      intervalMs: VACUUM_INTERVAL_MS,
      run: async () => void (await vacuumExecutions(db)),
    },
  ];
}

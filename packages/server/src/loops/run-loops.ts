import type { Clock } from "../clock.ts";
import type { LoopWork } from "./loop.ts";
import type { Database } from "../db/pool.ts";
import type { Tx } from "../db/queryable.ts";
import { SWEEP_LIMIT } from "../core/executions/execution-reads.ts";
import { wakeSettled, type Settled } from "../core/executions/settle-changes.ts";
import { vacuumExecutions } from "../core/executions/vacuum-executions.ts";
import { sweepDue, sweepExpired, sweepLeases } from "../core/executions/sweep-executions.ts";
import type { Wakes } from "../core/feeds/wakes.ts";

export type RunLoopContext = { db: Database; clock: Clock; wakes: Wakes; random: () => number };

/** The loops that move runs when only time has passed. Every replica runs them; rows are taken with SKIP LOCKED. */
export function runLoops({ db, clock, wakes, random }: RunLoopContext): LoopWork[] {
  // A full round means that there may be more: it goes on at once, so that a mass of due runs does not trickle.
  const untilDone = (sweep: (tx: Tx) => Promise<Settled>) => async (): Promise<void> => {
    for (;;) {
      const settled = await db.transaction(sweep);
      wakeSettled(wakes, settled);
      if (settled.runIds.length < SWEEP_LIMIT) return;
    }
  };
  return [
    { name: "sweep-leases", intervalMs: 1_000, run: untilDone((tx) => sweepLeases(tx, clock(), random)) },
    { name: "sweep-due", intervalMs: 200, run: untilDone((tx) => sweepDue(tx, clock())) },
    { name: "vacuum-executions", intervalMs: 1_000, run: async () => void (await vacuumExecutions(db)) },
    { name: "sweep-expired", intervalMs: 1_000, run: untilDone((tx) => sweepExpired(tx, clock())) },
  ];
}

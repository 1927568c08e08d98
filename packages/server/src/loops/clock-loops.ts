import type { Clock } from "../clock.ts";
import { setChecksBack } from "../core/deployments/deployment-writes.ts";
import { shortenBackoffs, shortenLeases } from "../core/executions/execution-writes.ts";
import { shortenWorkspaceLeases } from "../core/materializations/materialization-writes.ts";
import { setSchedulesBack } from "../core/schedules/set-slots-back.ts";
import { setHeardBack } from "../core/workers/worker-writes.ts";
import type { Database } from "../db/pool.ts";
import type { Timekeeper } from "../time/timekeeper.ts";
import type { LoopWork } from "./loop.ts";

export type ClockLoopContext = {
  db: Database;
  clock: Clock;
  leaseDurationMs: number;
  timekeeper: Pick<Timekeeper, "isSettled">;
};

/**
 * What was written while PostgreSQL's clock was ahead is put right after the clock was set back. Each server looks once after
 * its start, since the clock may have been set while it was not there, and for as long as a leap that it noticed unsettles it.
 */
export function clockLoops({ db, clock, leaseDurationMs, timekeeper }: ClockLoopContext): LoopWork[] {
  const afterLeap = (name: string, putRight: (now: number) => Promise<void>): LoopWork => {
    let hasLooked = false;
    return {
      name,
      intervalMs: 60_000,
      run: async () => {
        if (hasLooked && timekeeper.isSettled()) return;
        await putRight(clock());
        hasLooked = true;
      },
    };
  };
  return [
    afterLeap("set-heard-back", (now) => setHeardBack(db, now)),
    afterLeap("shorten-leases", (now) => shortenLeases(db, { now, leaseDurationMs })),
    afterLeap("shorten-backoffs", (now) => shortenBackoffs(db, now)),
    afterLeap("shorten-workspace-leases", (now) => shortenWorkspaceLeases(db, { now, leaseDurationMs })),
    afterLeap("set-checks-back", (now) => setChecksBack(db, now)),
    afterLeap("set-schedules-back", (now) => setSchedulesBack(db, now)),
  ];
}

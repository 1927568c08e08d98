import type { LiveIds } from "../live-ids.ts";
import { SAFEGUARD_MS, UNASKED_INTERVAL_MS, type LoopWork } from "./loop.ts";
import { hasDue, hasExpired, hasOverdue } from "../core/executions/execution-reads.ts";
import { createVacuum, type VacuumContext } from "../core/executions/vacuum-executions.ts";
import {
  OVERRUN_GRACE_MS,
  sweepDue,
  sweepExpired,
  sweepLeases,
  type SweepContext,
} from "../core/executions/sweep-executions.ts";

const VACUUM_INTERVAL_MS = 3_000;
/** While an old snapshot is held; nothing is looked for otherwise. */
const LIVE_INTERVAL_MS = 2_000;
const LIVE_SHARE = 0.05;

export type RunLoopContext = SweepContext &
  VacuumContext & { liveLeases: Pick<LiveIds, "all" | "look">; liveProcesses: Pick<LiveIds, "look"> };

/** The loops that move runs when only time has passed. Every replica runs them; rows are taken with SKIP LOCKED. */
export function runLoops(context: RunLoopContext): LoopWork[] {
  const vacuum = createVacuum(context);
  return [
    {
      name: "sweep-due",
      intervalMs: SAFEGUARD_MS,
      due: hasDue,
      run: () => sweepDue(context),
    },
    {
      name: "sweep-leases",
      intervalMs: SAFEGUARD_MS,
      needs: "watched-silence",
      due: (now) =>
        hasOverdue(
          { now, graceMs: OVERRUN_GRACE_MS, leaseDurationMs: context.leaseDurationMs },
          context.liveLeases.all(),
        ),
      run: () => sweepLeases(context),
    },
    {
      name: "sweep-expired",
      intervalMs: SAFEGUARD_MS,
      due: hasExpired,
      run: () => sweepExpired(context),
    },
    {
      name: "vacuum-executions",
      intervalMs: VACUUM_INTERVAL_MS,
      unaskedIntervalMs: UNASKED_INTERVAL_MS,
      run: async () => void (await vacuum.run()),
    },
    {
      name: "look-for-live-rows",
      intervalMs: LIVE_INTERVAL_MS,
      maxShare: LIVE_SHARE,
      run: async () => {
        await context.liveLeases.look();
        await context.liveProcesses.look();
      },
    },
  ];
}

import { wakeKeys } from "../core/feeds/wake-keys.ts";
import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import type { TurnContext } from "../core/sessions/start-turn.ts";
import { settleEndings } from "../core/endings/settle-endings.ts";
import { settleDueWaits } from "../core/waits/settle-waits.ts";
import { hasAwaitedEndings } from "../core/endings/ending-reads.ts";
import { findNextDue, hasWaitsDueBy } from "../core/waits/wait-reads.ts";
import { LOOK_INTERVAL_MS, SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type WaitLoopContext = TurnContext & ItemContext;

/** Resumes runs whose time has come, and tells those that wait for ended runs. Every replica runs them. */
export function waitLoops(context: WaitLoopContext): LoopWork[] {
  const { db, clock } = context;
  return [
    {
      name: "settle-due-waits",
      intervalMs: SAFEGUARD_MS,
      wakeKey: wakeKeys.timers,
      // Those that come due before the next look, so that the loop sleeps to the millisecond.
      due: (now) => hasWaitsDueBy(now + 2 * LOOK_INTERVAL_MS),
      run: async () => {
        for (;;) {
          const now = clock();
          const dueAt = await findNextDue(db, now);
          if (dueAt === null) return SAFEGUARD_MS;
          if (dueAt > now) return dueAt - now;
          await settleDueWaits(context);
        }
      },
    },
    {
      name: "settle-endings",
      intervalMs: SAFEGUARD_MS,
      wakeKey: wakeKeys.endings,
      due: hasAwaitedEndings,
      run: () => settleEndings(context),
    },
  ];
}

import { wakeSettled } from "../core/executions/settle-changes.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import type { TurnContext } from "../core/sessions/start-turn.ts";
import { wakeStreams } from "../core/streams/stream-effects.ts";
import { settleEndings } from "../core/waits/settle-endings.ts";
import { settleDueWaits } from "../core/waits/settle-waits.ts";
import { findNextDue, hasAwaitedEndings, hasWaitsDueBy } from "../core/waits/wait-reads.ts";
import type { Database } from "../db/pool.ts";
import { LOOK_INTERVAL_MS, SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type WaitLoopContext = TurnContext & { db: Database; wakes: Wakes };

/** Resumes runs whose time has come, and tells those that wait for ended runs. Every replica runs them. */
export function waitLoops(context: WaitLoopContext): LoopWork[] {
  const { db, clock, wakes } = context;
  return [
    {
      name: "settle-due-waits",
      intervalMs: SAFEGUARD_MS,
      wakeKey: wakeKeys.timers,
      // Those that come due before the next look, so that the loop sleeps to the millisecond.
      due: (now) => hasWaitsDueBy(now + 2 * LOOK_INTERVAL_MS),
      run: async () => {
        for (;;) {
          const dueAt = await findNextDue(db);
          if (dueAt === null) return SAFEGUARD_MS;
          const now = clock();
          if (dueAt > now) return dueAt - now;
          wakeSettled(wakes, await db.transaction((tx) => settleDueWaits(tx, now)));
        }
      },
    },
    {
      name: "settle-endings",
      intervalMs: SAFEGUARD_MS,
      wakeKey: wakeKeys.endings,
      due: hasAwaitedEndings,
      run: async () => {
        for await (const effects of settleEndings(context)) wakeStreams(wakes, effects);
      },
    },
  ];
}

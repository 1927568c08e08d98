import { wakeSettled } from "../core/executions/settle-changes.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import type { TurnContext } from "../core/sessions/start-turn.ts";
import { wakeStreams } from "../core/streams/stream-effects.ts";
import { settleEndings } from "../core/waits/settle-endings.ts";
import { settleDueWaits } from "../core/waits/settle-waits.ts";
import { findNextDue } from "../core/waits/wait-reads.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

export type WaitLoopContext = TurnContext & { db: Database; wakes: Wakes };

/** How late a replica may notice what another one has made due; its own it knows at once. */
const INTERVAL_MS = 1_000;

/** Resumes runs whose time has come, and tells those that wait for ended runs. Every replica runs them. */
export function waitLoops(context: WaitLoopContext): LoopWork[] {
  const { db, clock, wakes } = context;
  return [
    {
      name: "settle-due-waits",
      intervalMs: INTERVAL_MS,
      wakeKey: wakeKeys.timers,
      run: async () => {
        for (;;) {
          const dueAt = await findNextDue(db);
          if (dueAt === null) return INTERVAL_MS;
          const now = clock();
          if (dueAt > now) return dueAt - now;
          wakeSettled(wakes, await db.transaction((tx) => settleDueWaits(tx, now)));
        }
      },
    },
    {
      name: "settle-endings",
      intervalMs: INTERVAL_MS,
      wakeKey: wakeKeys.endings,
      run: async () => {
        for await (const effects of settleEndings(context)) wakeStreams(wakes, effects);
      },
    },
  ];
}

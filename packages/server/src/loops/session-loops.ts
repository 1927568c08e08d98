import type { Clock } from "../clock.ts";
import { expireSessions } from "../core/sessions/expire-sessions.ts";
import { hasExpiredSessions } from "../core/sessions/session-reads.ts";
import { wakeStreams } from "../core/streams/stream-effects.ts";
import type { Wakes } from "../core/feeds/wakes.ts";
import type { Database } from "../db/pool.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type SessionLoopContext = { db: Database; clock: Clock; wakes: Wakes };

/** Ends sessions whose time is over. */
export const sessionLoops = ({ db, clock, wakes }: SessionLoopContext): LoopWork[] => [
  {
    name: "expire-sessions",
    intervalMs: SAFEGUARD_MS,
    due: hasExpiredSessions,
    run: async () => {
      let swept;
      do {
        swept = await db.transaction((tx) => expireSessions(tx, clock()));
        wakeStreams(wakes, swept.effects);
      } while (swept.more);
    },
  },
];

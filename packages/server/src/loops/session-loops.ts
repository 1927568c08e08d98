import { expireSessions } from "../core/sessions/expire-sessions.ts";
import { hasExpiredSessions } from "../core/sessions/session-reads.ts";
import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

/** Ends sessions whose time is over. */
export const sessionLoops = (context: ItemContext): LoopWork[] => [
  {
    name: "expire-sessions",
    intervalMs: SAFEGUARD_MS,
    due: hasExpiredSessions,
    run: () => expireSessions(context),
  },
];

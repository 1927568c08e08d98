import { expireSessions } from "../core/sessions/expire-sessions.ts";
import { hasExpiredSessions } from "../core/sessions/session-reads.ts";
import { endOverdueInterrupts, INTERRUPT_GRACE_MS } from "../core/streams/interrupt-message.ts";
import { hasOverdueInterrupts } from "../core/streams/message-reads.ts";
import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import type { NewUuid } from "../uuid.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export const sessionLoops = (context: ItemContext & { newUuid: NewUuid }): LoopWork[] => [
  /** Ends sessions whose time is over. */
  {
    name: "expire-sessions",
    intervalMs: SAFEGUARD_MS,
    due: hasExpiredSessions,
    run: () => expireSessions(context),
  },
  /** Ends messages whose code did not end them when it was asked to. */
  {
    name: "end-interrupted",
    intervalMs: SAFEGUARD_MS,
    due: (now) => hasOverdueInterrupts(now - INTERRUPT_GRACE_MS, now),
    run: () => endOverdueInterrupts(context),
  },
];

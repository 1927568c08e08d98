import type { Tx } from "../../db/queryable.ts";
import type { StreamEffects } from "../streams/stream-effects.ts";
import { endSessions, type SessionEnd } from "./end-sessions.ts";
import { lockExpiredSessions } from "./session-reads.ts";
import { decideSessionExpiry } from "./session.ts";

const SWEEP_LIMIT = 200;

/** Ends open sessions whose time is over, as a close does; a live run finishes. `more`: there may be others. */
export async function expireSessions(
  tx: Tx,
  now: number,
): Promise<{ effects: StreamEffects; more: boolean }> {
  const sessions = await lockExpiredSessions(tx, now, SWEEP_LIMIT);
  const ends = sessions.flatMap((session): SessionEnd[] => {
    const decision = decideSessionExpiry(session.status);
    return decision.kind === "end" ? [{ session, status: decision.status, reason: decision.reason }] : [];
  });
  return { effects: await endSessions(tx, ends, now), more: sessions.length === SWEEP_LIMIT };
}

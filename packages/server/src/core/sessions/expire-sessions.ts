import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { endSessions, type SessionEnd } from "./end-sessions.ts";
import { lockExpiredSessions, type StoredSession } from "./session-reads.ts";
import { decideSessionExpiry } from "./session.ts";

const SWEEP_LIMIT = 200;

/** Ends open sessions whose time is over, as a close does; a live run finishes. */
export const expireSessions = (context: ItemContext): Promise<void> =>
  processInBatches(context, {
    loop: "expire-sessions",
    limit: SWEEP_LIMIT,
    itemOf: ({ environmentId, id }) => ({ environmentId, itemId: id }),
    take: async (tx, limit, now) => {
      const rows = await lockExpiredSessions(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: endExpired,
  });

function endExpired(tx: Tx, sessions: readonly StoredSession[], now: number): Promise<void> {
  const ends = sessions.flatMap((session): SessionEnd[] => {
    const decision = decideSessionExpiry(session.status);
    return decision.kind === "end" ? [{ session, status: decision.status, reason: decision.reason }] : [];
  });
  return endSessions(tx, ends, now);
}

import type { SessionStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { closeStreams } from "../streams/close-streams.ts";
import type { StreamEffects } from "../streams/stream-effects.ts";
import type { StoredSession } from "./session-reads.ts";
import { markEnded } from "./session-writes.ts";

export type SessionEnd = {
  session: StoredSession;
  status: Exclude<SessionStatus, "open">;
  reason: string | null;
};

/** Ends locked sessions and their streams. @returns what to wake once the transaction is durable. */
export async function endSessions(tx: Tx, ends: readonly SessionEnd[], now: number): Promise<StreamEffects> {
  for (const { session, status, reason } of ends) await markEnded(tx, session, status, reason, now);
  return closeStreams(
    tx,
    ends.map(({ session }) => session),
    now,
  );
}

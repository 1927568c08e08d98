import type { SessionStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { closeStreams } from "../streams/close-streams.ts";
import type { StoredSession } from "./session-reads.ts";
import { markEnded } from "./session-writes.ts";

export type SessionEnd = {
  session: StoredSession;
  status: Exclude<SessionStatus, "open">;
  reason: string | null;
};

/** Ends locked sessions and their streams. */
export async function endSessions(tx: Tx, ends: readonly SessionEnd[], now: number): Promise<void> {
  for (const { session, status, reason } of ends) await markEnded(tx, session, status, reason, now);
  await closeStreams(
    tx,
    ends.map(({ session }) => session),
    now,
  );
}

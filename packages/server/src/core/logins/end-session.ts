import type { Tx } from "../../db/queryable.ts";
import type { Actor } from "../identity/identity.ts";
import { markSessionRevoked } from "./session-writes.ts";

/** Signs out: the session is worthless on every server within a second. */
export async function endSession(tx: Tx, actor: Actor, now: number): Promise<void> {
  await markSessionRevoked(tx, actor.sessionId, now);
}

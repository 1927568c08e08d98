import type { Tx } from "../../db/queryable.ts";
import { notifyRevoked } from "../credentials/credential-cache.ts";
import type { Actor } from "./identity.ts";
import { markSessionRevoked } from "./session-writes.ts";

/** Signs out: all servers refuse the session as soon as they hear of the commit. */
export async function endSession(tx: Tx, actor: Actor, now: number): Promise<void> {
  await markSessionRevoked(tx, actor.sessionId, now);
  await notifyRevoked(tx, { kind: "session", id: actor.sessionId });
}

import type { Queryable } from "../../db/queryable.ts";
import {
  deleteExpiredDevices,
  deleteExpiredFailures,
  deleteExpiredLinks,
  deleteExpiredSessions,
} from "./login-expiry-writes.ts";

/** An ended session is kept this long, for whoever asks what it was. */
const SESSION_KEPT_MS = 7 * 86_400_000;

/** Removes what has expired, a bounded number at a time: the next round takes the rest. */
export async function purgeLogins(db: Queryable, now: number): Promise<void> {
  await deleteExpiredLinks(db, now);
  await deleteExpiredDevices(db, now);
  await deleteExpiredFailures(db, now);
  await deleteExpiredSessions(db, now - SESSION_KEPT_MS);
}

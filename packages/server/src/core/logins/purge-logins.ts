import type { Queryable } from "../../db/queryable.ts";
import {
  deleteExpiredDevices,
  deleteExpiredFailures,
  deleteExpiredLinks,
  deleteExpiredSessions,
} from "./login-expiry-writes.ts";

/** An ended session is kept this long, for whoever asks what it was. */
const SESSION_KEPT_MS = 7 * 86_400_000;

/** Removes what has expired, a bounded number at a time and until there is no more: strangers may have made a lot of it. */
export async function purgeLogins(db: Queryable, now: number): Promise<void> {
  while (await deleteExpiredLinks(db, now));
  while (await deleteExpiredDevices(db, now));
  while (await deleteExpiredFailures(db, now));
  while (await deleteExpiredSessions(db, now - SESSION_KEPT_MS));
}

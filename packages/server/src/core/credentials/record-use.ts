import type { Queryable } from "../../db/queryable.ts";
import type { CredentialUse } from "./credential-use.ts";
import { extendSessions, updateGrantUse, updateLastUsed } from "./credential-writes.ts";

/** Writes when keys were last used and extends the sessions that were: nothing of it is a request's to wait for. */
export async function recordUse(
  db: Queryable,
  use: CredentialUse,
  sessionMs: number,
  now: number,
): Promise<void> {
  const taken = use.take();
  try {
    if (taken.apiKeys.size > 0) await updateLastUsed(db, taken.apiKeys);
    if (taken.sessions.size > 0) await extendSessions(db, [...taken.sessions.keys()], sessionMs, now);
    if (taken.grants.size > 0) await updateGrantUse(db, taken.grants);
  } catch (error) {
    use.putBack(taken);
    throw error;
  }
}

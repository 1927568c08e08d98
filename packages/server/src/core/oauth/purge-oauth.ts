import type { Queryable } from "../../db/queryable.ts";
import { deleteExpiredGrants, deleteExpiredTokens, deleteUnusedClients } from "./oauth-expiry-writes.ts";

/** Removes what nobody can use any more, a bounded number at a time and until there is no more: strangers may register a lot. */
export async function purgeOauth(db: Queryable, now: number): Promise<void> {
  while (await deleteExpiredTokens(db, now));
  while (await deleteExpiredGrants(db, now));
  while (await deleteUnusedClients(db, now));
}

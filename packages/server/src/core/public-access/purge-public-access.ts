import type { Database } from "../../db/pool.ts";
import { deleteExpiredPublicAccess } from "./public-access-writes.ts";

/** Drops all public access tokens past their time, in transactions small enough to hold nobody up. */
export async function purgePublicAccess(db: Database, now: number): Promise<void> {
  while (await db.transaction((tx) => deleteExpiredPublicAccess(tx, now), { durability: "relaxed" }));
}

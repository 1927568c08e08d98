import type { Database } from "../../db/pool.ts";
import { deleteExpiredKeys } from "./idempotency-writes.ts";

/** Drops all keys past their time, in transactions small enough to hold nobody up. */
export async function purgeExpiredKeys(db: Database, now: number): Promise<void> {
  while (await db.transaction((tx) => deleteExpiredKeys(tx, now), { durability: "relaxed" }));
}

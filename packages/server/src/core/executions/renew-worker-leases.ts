import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import { renewLeases, type HeldLease } from "./renewal-writes.ts";

export type { HeldLease };

/**
 * Renews leases of a worker, and returns the ids of those that are its still. It is not flushed: after a crash of PostgreSQL
 * a lease merely ends earlier.
 */
export async function renewWorkerLeases(
  db: Database,
  workerId: Uuid<"wkr">,
  leases: readonly HeldLease[],
  times: { now: number; expiresAt: number },
): Promise<Set<string>> {
  const renewed = await db.transaction((tx) => renewLeases(tx, workerId, leases, times), {
    durability: "relaxed",
  });
  return new Set(renewed.map((row) => row.leaseId));
}

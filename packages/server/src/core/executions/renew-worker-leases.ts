import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import { renewLeases } from "./execution-writes.ts";

export type RenewedLease = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  leaseId: Uuid<"lease">;
  epoch: number;
};

/**
 * Renews leases of a worker, and returns the ids of those that are its still. It is not flushed: after a crash of PostgreSQL
 * a lease merely ends earlier.
 */
export async function renewWorkerLeases(
  db: Database,
  workerId: Uuid<"wkr">,
  leases: readonly RenewedLease[],
  times: { now: number; expiresAt: number },
): Promise<Set<string>> {
  const renewed = await db.transaction((tx) => renewLeases(tx, workerId, leases, times), {
    durability: "relaxed",
  });
  return new Set(renewed.map((row) => row.leaseId));
}

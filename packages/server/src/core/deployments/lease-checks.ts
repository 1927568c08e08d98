import type { Queryable } from "../../db/queryable.ts";
import { claimChecks, renewChecks, type CheckLease, type LeasedCheck } from "./deployment-writes.ts";

export type { LeasedCheck };

/**
 * Gives a worker pending deployments of its group to boot, of those that it can run. One statement, oldest first; rows that another worker is being
 * given are skipped. The new check id makes an answer to any earlier check void.
 */
export function leaseDeploymentChecks(db: Queryable, lease: CheckLease): Promise<LeasedCheck[]> {
  return claimChecks(db, lease);
}

/** Keeps the checks that a worker is at from being taken for silent. */
export async function renewDeploymentChecks(
  db: Queryable,
  lease: Omit<CheckLease, "meets" | "mayTakeMore" | "limit">,
): Promise<void> {
  if (lease.held === null || lease.held.length === 0) return;
  await renewChecks(db, lease);
}

import type { Queryable } from "../../db/queryable.ts";
import { claimChecks, type CheckLease, type LeasedCheck } from "./deployment-writes.ts";

export type { LeasedCheck };

/** A worker that has not answered by then is taken for gone, and another one is asked. */
export const CHECK_DURATION_MS = 60_000;

/**
 * Gives a worker pending deployments of its group to boot, of those that it can run. One statement, oldest first; rows that another worker is being
 * given are skipped. The new check id makes an answer to any earlier check void.
 */
export function leaseDeploymentChecks(db: Queryable, lease: CheckLease): Promise<LeasedCheck[]> {
  return claimChecks(db, lease, CHECK_DURATION_MS);
}

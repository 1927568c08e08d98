import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** What a lease call needs to know of its worker: whether it may take runs, and what the newest call was given. */
export type LeaseState = {
  status: "registered" | "active" | "draining" | "drained";
  leaseRequestId: string | null;
  leasedLeaseIds: string[];
};

export async function findLeaseState(db: Queryable, workerId: string): Promise<LeaseState | null> {
  const [row] = await db.query<LeaseState>(sql`
    SELECT status, lease_request_id AS "leaseRequestId", leased_lease_ids AS "leasedLeaseIds" FROM workers WHERE id = ${workerId}`);
  return row ?? null;
}
